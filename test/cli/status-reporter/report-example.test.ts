import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import {
  exampleHeading,
  exampleRequest,
  photoRequest,
  reportExample,
  textRequest,
} from "../../../src/cli/status-reporter/report-example.ts";
import { isChosenProtocol } from "../../../src/platform/limits/settings/protocol-settings.ts";
import type { ExampleInput } from "../../../src/tensor/signature/example-inputs.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";

const HTTP = { grpcAddress: "localhost:9000", httpUrl: "http://localhost:9001" };
const example = (inputs: readonly ExampleInput[], where: object = HTTP, name = "default") =>
  exampleRequest({ name, inputs, serves: () => true, ...(where as typeof HTTP) });

describe("over HTTP", () => {
  test("names the inputs with their elements", () => {
    const inputs: ExampleInput[] = [
      { name: "ids", dtype: "int64", shape: [1, 2], element: 0 },
      { name: "text", dtype: "bytes", shape: [2], element: Buffer.from('a "b"') },
      { name: "jpeg", dtype: "bytes", shape: [], element: Buffer.from([0xff, 0xd8]) },
      { name: "flag", dtype: "bool", shape: [], element: 1 },
    ];
    expect(example(inputs)).toBe(
      `curl http://localhost:9001/v1/models/default:predict -d '{"inputs":{"ids":[[0,0]],"text":["a \\"b\\"","a \\"b\\""],"jpeg":{"b64":"/9g="},"flag":true}}'`,
    );
  });

  test("stays one short line for a large input", () => {
    expect(example([{ name: "image", dtype: "float32", shape: [1, 224, 224, 3], element: 0 }])).toBe(
      `node -p 'JSON.stringify({"inputs":{"image":Array(1).fill(Array(224).fill(Array(224).fill(Array(3).fill(0))))}})' | curl http://localhost:9001/v1/models/default:predict -d @-`,
    );
  });

  test("quotes names for the URL and the shell", () => {
    expect(example([{ name: "it's", dtype: "float32", shape: [1], element: 0 }], HTTP, "my model")).toBe(
      `curl http://localhost:9001/v1/models/my%20model:predict -d '{"inputs":{"it'\\''s":[0]}}'`,
    );
  });

  test("gives way to gRPC for complex numbers, for which JSON has no form", () => {
    expect(example([{ name: "z", dtype: "complex64", shape: [2], element: 0 }])).toContain("buf curl");
  });
});

test("over gRPC one element stands for all", () => {
  const inputs: ExampleInput[] = [{ name: "image", dtype: "uint8", shape: [1, 224, 224, 3], element: 0 }];
  expect(example(inputs, { grpcAddress: "localhost:9000" })).toBe(
    `npx @bufbuild/buf curl --protocol grpc --http2-prior-knowledge http://localhost:9000/tensorflow.serving.PredictionService/Predict ` +
      `-d '{"model_spec":{"name":"default"},"inputs":{"image":{"dtype":"DT_UINT8","tensor_shape":{"dim":[{"size":1},{"size":224},{"size":224},{"size":3}]},"int_val":[0]}}}'`,
  );
});

describe("the heading", () => {
  const inputs: ExampleInput[] = [
    { name: "x", dtype: "float32", shape: [1, 3, 32, 32], element: 0 },
    { name: "k", dtype: "int64", shape: [], element: 0 },
  ];
  test.each([
    [{ inputs, ran: true, guessed: [] }, "Try it:"],
    [{ inputs, guessed: [] }, "Try it with values of your own; this guess was not tried:"],
    [
      { inputs, guessed: ["x"], ran: true },
      "Try it; the model leaves sizes open, of which these are guessed and ran, x [1,3,32,32]:",
    ],
    [
      { inputs, guessed: ["x"] },
      "Try it; the model leaves sizes open, of which these are guessed and were not tried, x [1,3,32,32]:",
    ],
    [
      { inputs, guessed: ["x"], ran: false },
      "Try it with sizes and values of your own; what was tried here did not run:",
    ],
  ])("of %j", (found, heading) => {
    expect(exampleHeading(found)).toBe(heading);
  });
});

test.each([
  [[1, 224, 224, 3], "curl http://h:1/predict/a%20b -F 'x=@photo.jpg'"],
  [[1, 3, 224, 224], "curl http://h:1/predict/a%20b -F 'x=@photo.jpg'"],
  [[1, 64, 64, 1], undefined],
  [[1, 3, 3, 3], undefined],
  [[1, 3], undefined],
])("an input of shape %j takes a photo by %j", (shape, line) => {
  const input = { name: "x", dtype: "float32", shape, element: 0 } as const;
  expect(photoRequest("http://h:1", "a b", [input])).toBe(line);
  expect(photoRequest("http://h:1", "a b", [input, input])).toBeUndefined();
});

test.each([
  ["float_x", "bytes_float_x"],
  ["int_x", "bytes_int_x"],
  ["raw_input", "bytes_raw_input"],
  ["image_x", "image_x"],
])("a photo for the input %s is sent in the field %s", (name, field) => {
  const input = { name, dtype: "float32", shape: [1, 224, 224, 3], element: 0 } as const;
  expect(photoRequest("http://h:1", "m", [input])).toBe(`curl http://h:1/predict/m -F '${field}=@photo.jpg'`);
});

test("a model of texts, or a function of hooks, is asked by the route of OpenAI's that it answers", async () => {
  const folder = (architecture: string, table: Record<string, number[]>, more: object = {}) =>
    tempFolder({
      ...toyTokenizer(),
      "config.json": JSON.stringify({
        architectures: [architecture],
        model_type: "bert",
        id2label: { 0: "A" },
        ...more,
      }),
      "model.onnx": toyEncoder({
        table: tableOf(table),
        ...(architecture !== "BertModel" && { head: "mean", output: "logits" }),
      }),
    });
  const hooks = { chat: () => "Hello", preprocess: <Values>(values: Values) => values };
  const server = await startServer({
    models: {
      search: { path: folder("BertModel", { good: [1, 0] }) },
      pairs: { path: folder("BertForSequenceClassification", { good: [5] }) },
      talk: { driver: "null", hooks },
      half: { path: "test/fixtures/models/half-plus-two.onnx" },
    },
  });
  for (const [name, route, answer] of [
    ["search", "/v1/embeddings", '"object":"embedding"'],
    ["pairs", "/v1/rerank", '"relevance_score"'],
    ["talk", "/v1/chat/completions", '"content":"Hello"'],
  ] as const) {
    const line = (await textRequest(server.httpUrl, name, server)) ?? "";
    expect(line).toContain(`curl ${server.httpUrl}${route} -d '{"model":"${name}",`);
    const { stdout } = await promisify(execFile)("sh", ["-c", line.replace("curl", "curl --silent")], {
      timeout: 30_000,
    });
    expect(stdout).toContain(answer);
  }
  expect(await textRequest(server.httpUrl, "half", server)).toBeUndefined();
  expect(await textRequest(server.httpUrl, "none", server)).toBeUndefined();
});

/** The headings and lines that are reported about a server. */
async function reported(server: Parameters<typeof reportExample>[0], served = "all") {
  const found: (readonly [heading: string, line: string])[] = [];
  const { grpcAddress, httpUrl } = server;
  const serves = (protocol: string) => isChosenProtocol(protocol, served);
  const facts = { name: "half", grpcAddress, stages: [], serves, ...(httpUrl !== undefined && { httpUrl }) };
  const nothing = () => undefined;
  const reporter = { loading: nothing, ready: nothing, retiring: nothing, draining: nothing, stopped: nothing };
  await reportExample(server, facts, {
    ...reporter,
    cutOff: nothing,
    example: (...shown) => found.push(shown),
  });
  return found;
}

test.each([
  ["all", "/v1/models/half:predict"],
  ["-tensorflow-serving", "/v2/models/half/infer"],
  ["kibernetika,openai", "/predict/half"],
])("a server with --protocols %s shows a request that it answers", async (servedProtocols, path) => {
  const server = await startServer({
    models: { half: { path: "test/fixtures/models/half-plus-two.onnx" } },
    servedProtocols,
  });
  const [[, line = ""] = []] = await reported(server, servedProtocols);
  expect(line).toContain(`curl ${server.httpUrl}${path} -d`);
  const { stdout } = await promisify(execFile)("sh", ["-c", line.replace("curl", "curl --silent --fail")]);
  expect(stdout).toMatch(/"(?:outputs|y)"/);
});

test("without a protocol that has a short request nothing is shown, over gRPC neither", () => {
  const inputs: ExampleInput[] = [{ name: "x", dtype: "float32", shape: [1], element: 0 }];
  const only = (name: string) => ({ serves: (protocol: string) => protocol === name });
  expect(example(inputs, { ...HTTP, ...only("sagemaker") })).toBeUndefined();
  expect(example(inputs, { grpcAddress: "localhost:9000", ...only("kserve") })).toBeUndefined();
});

test("what was not tried says so, and is not shown where the model did not run or its protocol is left out", async () => {
  const image = { name: "x", dtype: "float32", shape: [1, 32, 32, 3], element: 0 } as const;
  const hooks = { chat: () => "Hello" };
  const server = await startServer({ models: { half: { driver: "null", hooks } } });
  const headings = async (ran: boolean | undefined, served = "all") => {
    const example = { inputs: [image], guessed: [], ...(ran !== undefined && { ran }) };
    const shown = await reported({ ...server, exampleInputs: async () => example }, served);
    return shown.map(([heading]) => heading);
  };
  const [texts, photo] = ["As clients of OpenAI's API ask it; ", "With a photo of yours; "];
  expect(await headings(true)).toEqual([`${texts}this was not tried:`, "Try it:", `${photo}this was not tried:`]);
  expect(await headings(true, "-openai,-kibernetika")).toEqual(["Try it:"]);
  expect(await headings(false)).toEqual([expect.stringContaining("did not run")]);
});
