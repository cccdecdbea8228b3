import { describe, expect, test } from "vitest";
import { inferOnce } from "../../../src/serving/infer-once.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { assertOutputs, chooseSignature } from "../../../src/tensor/signature/choose-signature.ts";
import { startServer } from "../../helpers/start-server.ts";

test("outputs are checked against what a signature declares, and not where it declares nothing", () => {
  const known = [{ name: "b" }, { name: "a" }];
  expect(() => assertOutputs(["a"], known)).not.toThrow();
  expect(() => assertOutputs(undefined, known)).not.toThrow();
  expect(() => assertOutputs(["c"], undefined)).not.toThrow();
  expect(() => assertOutputs(["c"], known)).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: "output tensor alias not found in signature: c Outputs expected to be in the set {a,b}.",
    }),
  );
});

test("a signature that is run by its inputs is chosen if they are not those of the usual one, and no other is named", () => {
  const spec = (name: string) => ({ inputs: [{ name, dtype: "int64" as const }] });
  const signatures = {
    serving_default: { inputs: [{ name: "text", dtype: "bytes" as const }] },
    tokens: { ...spec("ids"), byInputs: true as const },
    other: spec("x"),
  };
  const chosen = (name: string, ...inputs: string[]) => chooseSignature(name, signatures, { inputs })?.name;
  expect(chosen("", "ids")).toBe("tokens");
  expect(chosen("", "text")).toBe("serving_default");
  expect(chosen("", "x")).toBe("serving_default");
  expect(chosen("", "ids", "text")).toBe("serving_default");
  expect(chosen("serving_default", "ids")).toBe("tokens");
  expect(chosen("other", "ids")).toBe("other");
  const numbers = { inputs: [], isUnnamedNumbers: true };
  expect(chooseSignature("", signatures, numbers)?.name).toBe("tokens");
  expect(chooseSignature("", { serving_default: spec("x"), tokens: signatures.tokens }, numbers)?.name).toBe(
    "serving_default",
  );
  expect(chooseSignature("", signatures)?.name).toBe("serving_default");
});

describe("an output that the model lacks", () => {
  const stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
  const nope = "output tensor alias not found in signature: nope Outputs expected to be in the set {y}.";

  test("is the client's fault, though a hook stands before the model, which does not run", async () => {
    let runs = 0;
    const preprocess = <Values>(values: Values) => {
      runs++;
      return values;
    };
    const { service, httpUrl } = await startServer({ stages, hooks: { preprocess } });
    const inputs = { kind: "tensors", tensors: toTensors({ x: [1] }, () => "float32") } as const;
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const asked = inferOnce(service, { ref: { model: "" }, signature: "", inputs, outputs: ["nope"], call });
    await expect(asked).rejects.toMatchObject({ code: "invalid_argument", message: nope });
    const body = JSON.stringify({ inputs: { x: { dtype: "float", data: [1] } }, out_filter: ["nope"] });
    const answer = await fetch(`${httpUrl}/predict/m`, { method: "POST", body });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(nope)]);
    expect(runs).toBe(0);
  });
});
