import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { type DeclaredValue, readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import type { OnnxValue } from "../../../src/drivers/onnx/onnx-value.ts";
import type { SessionHandle } from "../../../src/drivers/onnx/session-handle.ts";
import { ServingError } from "../../../src/errors.ts";
import { fromBfloat16, fromFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, isTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { openOnnx } from "./load-onnx.ts";
import { listCases, type OperatorCase, readValue } from "./operator-case.ts";

/** Of Debian's package libonnx-testdata: ONNX's own cases. */
const DATA = "/usr/share/libonnx-testdata/data";
const FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted"].map((name) => `${DATA}/${name}`);

/** Reasons of ONNX Runtime not to load a model: no kernel for the types or the version, a domain that it lacks, a locale that the machine lacks. */
const NOT_ITS_OPERATOR =
  /Could not find an implementation|is not a registered function|Batchwise recurrent operations|Failed to construct locale/;
/** Cases whose results are random, that ONNX Runtime computes otherwise than the reference of that version, or whose values lack their shapes. */
const OTHER_RESULTS = [
  /^test_cast(like)?_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)/,
  /^test_bernoulli/,
  /^test_training_dropout/,
  /^test_cast(like)?_FLOAT_to_STRING/,
  /^test_maxunpool_export_with_output_shape$/,
  /^test_resize_downsample_scales_(cubic|linear)_align_corners$/,
];
/** Values that its C API has no way to pass: an empty sequence, and an optional without a value. */
const NOT_PASSED = ["test_loop13_seq", "test_optional_has_element_empty"];

const isThere = existsSync(DATA);
if (!isThere) {
  const reason = "ONNX's operator cases are not run: the package libonnx-testdata of Debian has them (see .ci/run)\n";
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
}

it.skipIf(!isThere)("gives the results of ONNX's reference, sequences and optionals included", async () => {
  const outcomes = new Map<string, string>();
  for (const one of FOLDERS.flatMap(listCases)) outcomes.set(one.name, await runCase(one));
  const failures = [...outcomes].filter(([name, outcome]) => outcome !== "passed" && !isExcused(name, outcome));
  expect(failures).toEqual([]);
  expect([...outcomes.values()].filter((outcome) => outcome === "passed").length).toBeGreaterThanOrEqual(985);
});

function isExcused(name: string, outcome: string): boolean {
  if (NOT_ITS_OPERATOR.test(outcome)) return true;
  if (NOT_PASSED.includes(name)) return outcome.endsWith("has no way to pass.");
  return OTHER_RESULTS.some((pattern) => pattern.test(name)) && /^(differs|Invalid rank)/.test(outcome);
}

async function runCase({ modelPath, ...values }: OperatorCase): Promise<string> {
  try {
    const file = readModelFile(modelPath);
    const model = await openOnnx(modelPath, { engine: "native" });
    const session = model.hookArgs?.session as SessionHandle;
    const inputs = readAll(values.inputs, file?.inputs ?? []);
    const expected = readAll(values.outputs, file?.outputs ?? []);
    const given = await session.run(inputs as Parameters<SessionHandle["run"]>[0]);
    await model.close();
    const wrong = Object.keys(expected).find((name) => !isClose(given[name], expected[name]));
    return wrong === undefined ? "passed" : `differs in ${wrong}`;
  } catch (reason) {
    return ServingError.from(reason).message;
  }
}

function readAll(files: readonly string[], declared: readonly DeclaredValue[]): Record<string, OnnxValue> {
  return Object.fromEntries(files.map((file, index) => [declared[index]!.name, readDeclared(file, declared[index]!)]));
}

const BFLOAT16 = 16;

function readDeclared(file: string, { kind, elementType }: DeclaredValue): OnnxValue {
  const value = readValue(file, kind === "sequence" || kind === "optional" ? kind : "tensor");
  // The package has the bits of such numbers as those of uint16.
  if (elementType !== BFLOAT16 || !isTensor(value) || value.dtype !== "uint16") return value;
  return createTensor("bfloat16", value.shape, value.data);
}

function isClose(given: OnnxValue | undefined, expected: OnnxValue | undefined): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(given) &&
      given.length === expected.length &&
      expected.every((element, index) => isClose(given[index], element))
    );
  if (!isTensor(expected) || !isTensor(given)) return given === expected;
  if (given.dtype !== expected.dtype || String(given.shape) !== String(expected.shape)) return false;
  const numbers = toPlain(given);
  return toPlain(expected).every((value, index) => isNear(numbers[index], value));
}

function isNear(given: unknown, expected: unknown): boolean {
  if (Object.is(given, expected) || given === expected) return true;
  if (typeof given !== "number" || typeof expected !== "number") return false;
  return Math.abs(given - expected) <= 1e-3 * Math.abs(expected) + 1e-3;
}

function toPlain(tensor: Tensor): unknown[] {
  if (tensor.dtype === "bytes") return tensor.data.map((element) => Buffer.from(element).toString());
  if (tensor.dtype === "float16") return Array.from(tensor.data, fromFloat16);
  return tensor.dtype === "bfloat16" ? Array.from(tensor.data, fromBfloat16) : Array.from<unknown>(tensor.data);
}
