import { describe, expect, test } from "vitest";
import { inferOnce } from "../../../src/serving/infer-once.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { assertNames, assertOutputs, chooseSignature } from "../../../src/tensor/signature/choose-signature.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
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

test("names of a request may be long, each and together", () => {
  const [most, many] = ["n".repeat(4096), Array.from({ length: 256 }, () => "n".repeat(4096))];
  expect(() => assertNames([most], [most])).not.toThrow();
  expect(() => assertNames(many)).not.toThrow();
  expect(() => assertNames([], [`${most}n`])).toThrow(
    /^A tensor's name has 4097 characters; expected 4096 at most\. It begins "n{100}"\.$/,
  );
  expect(() => assertNames(many, ["x"])).toThrow(/ have 1048577 characters together; expected 1048576 at most\./);
});

test("longer ones are the client's fault on every protocol, of models that declare neither inputs nor outputs", async () => {
  const { httpUrl, grpcAddress } = await startServer({ stages: [{ driver: "null" }] });
  const call = connectKserve(grpcAddress);
  const ask = async (path: string, body: object) => {
    const answer = await fetch(`${httpUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
    return [answer.status, (await answer.text()).slice(0, 300)];
  };
  const names = (length: number, count = 1) => Array.from({ length: count }, (_, at) => `${at}`.padEnd(length, "\x01"));
  const input = { name: "x", datatype: "FP32", shape: [1], data: [1] };
  for (const [wrong, message] of [
    [names(4097), /4097 characters; expected 4096/],
    // The same limit as that of the names in JSON.
    [names(4096, 300), /1048576/],
  ] as const) {
    const refused = [400, expect.stringMatching(message)];
    const outputs = wrong.map((name) => ({ name }));
    expect(await ask("/v2/models/default/infer", { inputs: [input], outputs })).toEqual(refused);
    const inputs = wrong.map((name) => ({ ...input, name }));
    expect(await ask("/v2/models/default/infer", { inputs })).toEqual(refused);
    for (const request of [{ inputs }, { inputs: [input], outputs }]) {
      const sent = { model_name: "default", ...request, inputs: request.inputs.map(({ data, ...head }) => head) };
      const asked = call("ModelInfer", { ...sent, raw_input_contents: sent.inputs.map(() => Buffer.alloc(4)) });
      await expect(asked).rejects.toMatchObject({ code: 3, message: expect.stringMatching(message) });
    }
    const filter = { instances: [1], output_filter: wrong };
    expect(await ask("/v1/models/default:predict", filter)).toEqual(refused);
    const columns = { inputs: Object.fromEntries(wrong.map((name) => [name, [1]])) };
    expect(await ask("/v1/models/default:predict", columns)).toEqual(refused);
    expect(await ask("/predict/default", { inputs: { x: { dtype: "float", data: [1] } }, out_filter: wrong })).toEqual(
      refused,
    );
  }
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
