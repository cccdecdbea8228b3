import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { featureInputs } from "../../../../src/protocols/tensorflow-serving/examples/example-inputs.ts";
import { readExamplesJson } from "../../../../src/protocols/tensorflow-serving/examples/examples-json.ts";
import { readFeatures } from "../../../../src/protocols/tensorflow-serving/examples/features.ts";
import { createServer, type Server } from "../../../../src/server/server.ts";
import type { DType } from "../../../../src/tensor/dtype.ts";
import { missingRuntime } from "../../../drivers/missing-runtime.ts";
import { tensorflowRuntime } from "../../../drivers/tensorflow/native/tensorflow-runtime.ts";
import { tensorflowModel } from "../../../drivers/tensorflow/tensorflow-cases.ts";
import { connect } from "../../../grpc/byte-client.ts";
import { startServer } from "../../../helpers/start-server.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";

const missing = await missingRuntime("Bad examples for TensorFlow", tensorflowRuntime);
const ENGINES = missing === undefined ? ["native", "portable"] : ["portable"];

const REGRESS = "/tensorflow.serving.PredictionService/Regress";

/** A field of bytes. */
function field(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of((number << 3) | 2, content.length), content]);
}

/** A RegressionRequest for the model `m` whose only example has these bytes. */
function regression(example: Uint8Array): Buffer {
  const modelSpec = field(1, field(1, Buffer.from("m")));
  return Buffer.concat([modelSpec, field(2, field(1, field(1, example)))]);
}

const MALFORMED: readonly (readonly [string, Buffer])[] = [
  ["half of an example", Buffer.of(0x0a, 40, 0x0a, 3)],
  ["a field that ends nowhere", Buffer.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)],
  [
    "a feature of another wire type",
    field(1, field(1, field(1, Buffer.from("a")), field(2, Buffer.of(0x10, 1, 0xff)))),
  ],
  ["text", Buffer.from("not an example")],
];

describe.each(ENGINES)("a graph that parses examples, in the %s engine,", (engine) => {
  let server: Server;
  beforeAll(async () => {
    const models = { m: { path: tensorflowModel("parse_example"), options: { engine } } };
    server = await createServer({ models, http: {} });
  });
  afterAll(() => server.close());

  const ask = async (example: string, context = "{}") => {
    const body = `{"context": ${context}, "examples": [${example}]}`;
    const response = await fetch(`${server.httpUrl}/v1/models/m:regress`, { method: "POST", body });
    return `${response.status} ${await response.text()}`;
  };
  // What can be parsed comes as far as the outputs, which are not a regression's.
  const PARSED = /400 [\s\S]*Expected regression signature outputs/;

  it.each(MALFORMED)("refuses %s", async (_, bytes) => {
    await expect(connect(server.grpcAddress).call(REGRESS, regression(bytes))).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/[Cc]ould not parse|example/),
    });
  });

  it("takes floats, and no integers for them", async () => {
    expect(await ask('{"a": [1.0, 2.5]}')).toMatch(PARSED);
    expect(await ask('{"a": [1, 2]}')).toMatch(/400 [\s\S]*Data types don't match/);
  });

  it("takes an empty list for a feature that is not there", async () => {
    expect(await ask('{"a": [1.0, 2.5], "b": [], "c": []}')).toMatch(PARSED);
    expect(await ask('{"a": []}')).toMatch(/400 [\s\S]*(?:required but could not be found|is required)/);
  });

  /** The code and text of the error that an Example gives, made of lists of a kind with these bytes. */
  const sent = async (features: Readonly<Record<string, readonly [kind: number, bytes: Uint8Array] | undefined>>) => {
    const entries = Object.entries(features).map(([name, list]) =>
      field(1, field(1, Buffer.from(name)), field(2, ...(list === undefined ? [] : [field(...list)]))),
    );
    const call = connect(server.grpcAddress).call(REGRESS, regression(field(1, ...entries)));
    return call.then(
      () => "taken",
      ({ code, details }) => `${code} ${details}`,
    );
  };
  const [BYTES, FLOATS, INTEGERS] = [1, 2, 3];
  const EMPTY = new Uint8Array(0);
  const a = [FLOATS, field(1, new Uint8Array(8))] as const;

  it("takes a feature without a kind for one that is not there", async () => {
    expect(await sent({ a, b: undefined, c: undefined })).toMatch(/^3 [\s\S]*Expected regression signature outputs/);
    expect(await sent({ a: undefined })).toMatch(/^3 [\s\S]*(?:required but could not be found|is required)/);
  });

  it("takes an empty list for what it is: no values, and of a type", async () => {
    expect(await sent({ a, c: [INTEGERS, EMPTY] })).toMatch(/^3 [\s\S]*Expected regression signature outputs/);
    expect(await sent({ a, c: [FLOATS, EMPTY] })).toMatch(/^3 [\s\S]*Data types don't match/);
    expect(await sent({ a: [FLOATS, EMPTY] })).toMatch(
      /^3 [\s\S]*(?:float|DT_FLOAT) values != expected\. +Values size: 0/,
    );
    expect(await sent({ a, b: [BYTES, EMPTY] })).toMatch(/^3 [\s\S]*(?:bytes|DT_STRING) values != expected/);
    expect(await sent({ a, b: [INTEGERS, EMPTY] })).toMatch(/^3 [\s\S]*Data types don't match/);
  });

  it("counts the example's feature where the context has it too, and of equal keys the last", async () => {
    expect(await ask('{"a": [1.0, 2.5]}', '{"a": ["text"]}')).toMatch(PARSED);
    expect(await ask('{"a": ["text"]}', '{"a": [1.0, 2.5]}')).toMatch(/400 [\s\S]*Data types don't match/);
    expect(await ask('{"a": "text", "a": [1.0, 2.5]}')).toMatch(PARSED);
    expect(await ask("{}", '{"a": "text", "a": [1.0, 2.5]}')).toMatch(PARSED);
  });
});

it.each(MALFORMED)("a model of another framework, whose inputs are features, refuses %s", async (_, bytes) => {
  const { grpcAddress } = await startServer({ models: { m: { path: "test/fixtures/models/half-plus-two.onnx" } } });
  await expect(connect(grpcAddress).call(REGRESS, regression(bytes))).rejects.toMatchObject({
    code: 3,
    details: expect.stringMatching(/Malformed|Feature: x/),
  });
});

describe("a number of an example, for an input of a model of another framework,", () => {
  const read = (json: string, dtype: DType) => {
    const { examples } = readExamplesJson(Buffer.from(`{"examples": [{"x": ${json}}]}`), 1e6);
    return featureInputs(examples, { inputs: [{ name: "x", dtype }] }, 1e6).x?.data;
  };

  it.each<[string, DType]>([
    ["70000", "float16"],
    ["-65520.0", "float16"],
    ["3.4e38", "bfloat16"],
    ["300", "int8"],
  ])("%s is no %s", (json, dtype) => {
    expect(() => read(json, dtype)).toThrow(/Feature: x \(data type: .*\) cannot be read: .* is not a /);
  });

  it("is rounded where that does not make it infinite", () => {
    expect(read("65519.0", "float16")).toEqual(Uint16Array.of(0x7bff));
    expect(read("[Infinity, 1.0]", "float16")).toEqual(Uint16Array.of(0x7c00, 0x3c00));
  });
});

describe("an integer of JSON in an example", () => {
  const read = (json: string) => {
    const { examples } = readExamplesJson(Buffer.from(`{"examples": [{"n": ${json}}]}`), 1e6);
    return readFeatures(examples.data[0] as Uint8Array, ampleBudget()).get("n");
  };

  it.each([
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["9007199254740993", 9007199254740993n],
    ["-0", 0n],
  ])("%s keeps every digit", (json, value) => {
    expect(read(json)).toEqual({ kind: "int64", values: [value] });
  });

  it.each(["9223372036854775808", "18446744073709551615", "[1, 9223372036854775808]"])("%s is refused", (json) => {
    expect(() => read(json)).toThrow("Feature: n has uint64_t element. Only int64_t is supported.");
  });

  it("beyond 64 bits is a float, as any number with a fraction", () => {
    expect(read("18446744073709551616")).toEqual({ kind: "float", values: [18446744073709552000] });
    expect(read("-9223372036854775809")).toEqual({ kind: "float", values: [-(2 ** 63)] });
  });
});
