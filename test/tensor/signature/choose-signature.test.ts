import { describe, expect, test } from "vitest";
import { inferOnce } from "../../../src/serving/infer-once.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { assertOutputs } from "../../../src/tensor/signature/choose-signature.ts";
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
