import { describe, expect, it } from "vitest";
import { ServingError } from "../../../../src/errors.ts";
import { expectEqualToPython } from "../equality.ts";
import { readCases, TENSORFLOW_MODELS } from "../tensorflow-cases.ts";
import { loadPortable } from "./open-portable.ts";

/** Models that are refused while they load, and the operation that the message names. */
const REFUSED_MODELS: Readonly<Record<string, string>> = {
  counter: "AssignAddVariableOp",
  counter_with_requests: "AssignAddVariableOp",
  counter_by_control_edge: "AssignAddVariableOp",
  dtype_bfloat16: "RealDiv on DT_BFLOAT16",
  dtype_complex128: "Mul on DT_COMPLEX128",
  dtype_complex64: "Mul on DT_COMPLEX64",
  dtype_half: "RealDiv on DT_HALF",
  linear_algebra: "Cholesky",
  random_numbers: "StatelessRandomNormalV2",
  spectrum: "RFFT",
  table_of_values: "1099511627776",
};

/** Models with a signature that is refused: portable-engine.test.ts has them. */
const PARTLY_REFUSED = ["many_signatures"];

/** Models whose inputs have numbers that 32 bits do not hold. */
const REFUSED_INPUTS = ["dtype_float64", "dtype_int64", "dtype_uint32", "dtype_uint64"];

const EQUAL = TENSORFLOW_MODELS.filter(
  (name) => !(name in REFUSED_MODELS || PARTLY_REFUSED.includes(name) || REFUSED_INPUTS.includes(name)),
);

describe("the portable engine gives what Python TensorFlow gives", () => {
  it.each(EQUAL)("for %s", (name) => expectEqualToPython(name, "portable"));
});

describe("the portable engine refuses to load", () => {
  it.each(Object.entries(REFUSED_MODELS))("%s, naming %s and what serves it", async (name, operation) => {
    const [first] = readCases(name);
    const loading = loadPortable(name, { model_signature: first?.signature ?? "", ...first?.options });
    await expect(loading).rejects.toMatchObject({ code: "failed_precondition" });
    await expect(loading).rejects.toThrow(operation);
    await expect(loading).rejects.toThrow("kserving runtimes install tensorflow");
  });
});

describe("the portable engine refuses inputs that 32 bits do not hold", () => {
  it.each(REFUSED_INPUTS)("of %s", async (name) => {
    const refusal = await expectEqualToPython(name, "portable").catch((reason: unknown) => reason);
    expect(refusal).toBeInstanceOf(ServingError);
    expect(refusal).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("32 bits") });
  });
});
