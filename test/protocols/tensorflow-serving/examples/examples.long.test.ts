import { describe, expect, it } from "vitest";
import { defineHooks } from "../../../../src/hooks/hooks.ts";
import { createTensor, type Tensor } from "../../../../src/tensor/tensor.ts";
import type { Plain } from "../../../grpc/oracle.ts";
import { shareServer, startServer } from "../../../helpers/start-server.ts";
import { connectService } from "../connect-service.ts";

/** Takes serialised tf.Examples, and gives outputs of the names that TensorFlow's exporters have for these APIs. */
const serialized = defineHooks({
  inputs: [{ name: "inputs", dtype: "bytes", shape: [-1] }],
  process: ({ inputs }) => {
    const { data } = inputs as Tensor<"bytes">;
    const lengths = data.map(({ length }) => length);
    return {
      classes: data.map(() => ["cat", "dog"]),
      scores: createTensor("float32", [data.length, 2], Float32Array.from(lengths.flatMap((each) => [each, 0.5]))),
      outputs: createTensor("float32", [data.length], Float32Array.from(lengths)),
    };
  },
});

const start = shareServer(() => ({
  models: {
    half: { path: "test/fixtures/models/half-plus-two.onnx" },
    any: { driver: "null" },
    raw: { driver: "null", hooks: serialized },
  },
  workers: 0,
}));

const example = (features: Plain): Plain => ({ features: { feature: features } });
const x = (...value: number[]) => example({ x: { float_list: { value } } });
/** Bytes of `x(2)` as protobuf has it. */
const X_BYTES = 17;
/** Bytes of an example without features. */
const EMPTY_BYTES = 2;

const listed = (...examples: Plain[]) => ({ example_list: { examples } });
const request = (name: string, input: Plain, signature_name = "") => ({ model_spec: { name, signature_name }, input });

async function ask(method: string, message: Plain): Promise<Plain> {
  return connectService(await start(), "PredictionService")(method, message);
}

const spec = (name: string) => ({ name, signature_name: "serving_default", version: { value: "1" } });

describe("Regress", () => {
  it("gives a model of any framework the features of its inputs' names", async () => {
    const whole = example({ x: { int64_list: { value: [5] } }, other: { bytes_list: { value: [Buffer.from("a")] } } });
    const answer = await ask("Regress", request("half", listed(x(2), whole)));
    expect(answer).toMatchObject({
      model_spec: spec("half"),
      result: { regressions: [{ value: 3 }, { value: 4.5 }] },
    });
  });

  it("puts the features of the context before those of each example", async () => {
    const input = { example_list_with_context: { context: x(8), examples: [example({}), x(2)] } };
    const { result } = await ask("Regress", request("half", input));
    expect(result).toEqual({ regressions: [{ value: 6 }, { value: 3 }] });
  });

  it("gives examples as they are to a signature that takes them serialised", async () => {
    const { result } = await ask("Regress", request("raw", listed(x(2), example({}))));
    expect(result).toEqual({ regressions: [{ value: X_BYTES }, { value: EMPTY_BYTES }] });
  });

  it("answers thousands of examples", async () => {
    const values = Array.from({ length: 9000 }, (_, index) => index);
    const { result } = await ask("Regress", request("half", listed(...values.map((value) => x(value)))));
    const regressions = (result as { regressions: { value: number }[] }).regressions.map(({ value }) => value);
    expect(regressions).toEqual(values.map((value) => value / 2 + 2));
  });
});

describe("Classify", () => {
  it("answers labels and scores", async () => {
    const answer = await ask("Classify", request("raw", listed(x(2))));
    const classes = [
      { label: "cat", score: X_BYTES },
      { label: "dog", score: 0.5 },
    ];
    expect(answer).toMatchObject({ model_spec: spec("raw"), result: { classifications: [{ classes }] } });
  });

  it("takes the only output of floats for the scores", async () => {
    const { result } = await ask("Classify", request("any", listed(x(0.5, 0.25), x(1, 0))));
    const scored = (...scores: number[]) => ({ classes: scores.map((score) => ({ label: "", score })) });
    expect(result).toEqual({ classifications: [scored(0.5, 0.25), scored(1, 0)] });
  });
});

describe("MultiInference", () => {
  const task = (name: string, method: string, signature_name = "") => ({
    model_spec: { name, signature_name },
    method_name: `tensorflow/serving/${method}`,
  });

  it("answers each task in order", async () => {
    const answer = await ask("MultiInference", { tasks: [task("raw", "regress")], input: listed(x(2)) });
    expect(answer.results).toMatchObject([
      { model_spec: spec("raw"), regression_result: { regressions: [{ value: X_BYTES }] } },
    ]);
  });

  it.each([
    [[task("", "regress")], "Found ModelSpec with an empty model name."],
    [
      [task("half", "regress"), task("raw", "regress")],
      "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
    ],
    [
      [task("half", "regress"), task("half", "classify", "serving_default")],
      "Duplicate evaluation of signature: serving_default",
    ],
    [[task("half", "regress", "nix")], "Requested signature not found in model graph: nix"],
    [[task("half", "predict")], "Unsupported signature method_name: tensorflow/serving/predict"],
    [[], "The request has no tasks"],
  ])("refuses %j", async (tasks, text) => {
    await expect(ask("MultiInference", { tasks, input: listed(x(2)) })).rejects.toThrow(text);
  });
});

describe("over gRPC what does not fit is refused", () => {
  it.each([
    ["small", 1],
    ["large, which a codec thread reads,", 20_000],
  ])(
    "a %s request without a model_spec where the server was told to, before its examples are looked at",
    async (_, count) => {
      const models = { half: { path: "test/fixtures/models/half-plus-two.onnx" } };
      const call = connectService(
        await startServer({ models, workers: 0, requireModelSpec: true }),
        "PredictionService",
      );
      for (const input of [{}, listed(...Array.from({ length: count }, () => x(2)))])
        await expect(call("Regress", { input })).rejects.toThrow("Missing ModelSpec");
    },
  );

  it.each(["Regress", "Classify"])("%s of no examples by a model or signature that is not there", async (method) => {
    await expect(ask(method, request("none", {}))).rejects.toThrow("Servable not found for request: Latest(none)");
    await expect(ask(method, request("half", {}, "nix"))).rejects.toThrow("No signature was found with the name: nix");
  });

  it.each([
    ["Regress", request("half", {}), "Input is empty."],
    ["Regress", request("half", listed()), "Input is empty."],
    ["Regress", request("half", listed(x(2)), "nix"), "No signature was found with the name: nix"],
    ["Regress", request("none", listed(x(2))), "Servable not found for request: Latest(none)"],
    [
      "Regress",
      request("half", listed(example({ y: { float_list: { value: [1] } } }))),
      "Feature: x (data type: float32) cannot be read: example 0 has no values of that name; it has y.",
    ],
    [
      "Regress",
      request("half", listed(x(2), x(1, 2))),
      "example 1 has 2 values, example 0 has 1; expected as many in each",
    ],
    [
      "Regress",
      request("half", listed(example({ x: { bytes_list: { value: [Buffer.from("1")] } } }))),
      "example 0 has values of type bytes, which do not become float32",
    ],
    ["Regress", request("half", listed(x(1, 2))), "an example has 2 values; expected values for the shape [] of a row"],
    ["Classify", request("half", listed(x(2))), "Expected classification signature outputs to contain at least one of"],
    [
      "Regress",
      request("any", listed(x(1, 2))),
      'Expected regression signature outputs to contain "outputs", or one output of floats',
    ],
  ])("%s of %j", async (method, message, text) => {
    await expect(ask(method, message)).rejects.toThrow(text);
  });
});

describe("over HTTP", () => {
  async function post(rest: string, body: unknown) {
    const { httpUrl } = await start();
    const response = await fetch(`${httpUrl}/v1/models/${rest}`, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.text()];
  }

  it("regress answers with the original's white space", async () => {
    const body = { context: { x: 8 }, examples: [{}, { x: [5.5] }] };
    expect(await post("half:regress", body)).toEqual([200, '{\n    "results": [6.0, 4.75]\n}']);
  });

  it("classify answers with the original's white space", async () => {
    const text = '{\n    "results": [[["cat", 2.0], ["dog", 0.5]], [["cat", 17.0], ["dog", 0.5]]\n    ]\n}';
    expect(await post("raw/versions/1:classify", { examples: [{}, { x: 2.5 }] })).toEqual([200, text]);
  });

  it("takes text, encoded bytes, truth values and lists of them", async () => {
    const [, text] = await post("raw:regress", {
      examples: [{ a: "ü" }, { a: { b64: "w7w=" } }, { a: [true, false] }],
    });
    const { results } = JSON.parse(text as string);
    expect(results[0]).toBe(results[1]);
    expect(results[2]).toBeGreaterThan(0);
  });

  it.each([
    [{ instances: [] }, "When method is classify, key 'examples' is expected and was not found"],
    [{ examples: {} }, "Expecting 'examples' value to be an list/array"],
    [{ examples: [] }, "'examples' value is an empty array"],
    [{ examples: [1, 2] }, "Example must be JSON object but got JSON"],
    [{ examples: [{ x: null }] }, "Feature: x has element with unexpected JSON type: Null"],
    [{ examples: [{ x: [["a"]] }] }, "Feature: x has element with unexpected JSON type: Array"],
    [{ examples: [{ x: [1, 2.5] }] }, "Unexpected element type in feature: x expecting type: int64"],
    [{ examples: [{ x: ["a", 1] }] }, "Unexpected element type in feature: x expecting type: bytes"],
    [{ examples: [{ x: 2.5 }], signature_name: 1 }, "'signature_name' key must be a string value"],
  ])("refuses %j", async (body, text) => {
    const [status, answer] = await post("half:regress", body);
    expect([status, JSON.parse(answer as string).error]).toEqual([400, expect.stringContaining(text)]);
  });
});
