import { expect, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { authFiles, basic } from "../../access/auth-fixture.ts";
import { PIXELS } from "../../helpers/echo-driver.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const hooks: Hooks = {
  inputs: [
    { name: "x", dtype: "int8", shape: [-1, 2, 3] },
    { name: "note", dtype: "bytes", shape: [1] },
    { name: "photo", dtype: "uint8", shape: [1, -1, -1, 3] },
  ],
  outputs: [{ name: "kind", dtype: "bytes", shape: [-1], labels: ["cat", "dog"] }],
  process: () => ({ kind: ["cat"] }),
};
const models = { "a b": { driver: "null", hooks }, any: { driver: "null" } };

/** JSON of any form. */
// biome-ignore lint/suspicious/noExplicitAny: a document is compared, not used
type Json = any;

interface Operation {
  readonly operationId: string;
  readonly requestBody?: {
    readonly description?: string;
    readonly content: Record<string, { readonly schema: Json; readonly example?: Json }>;
  };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: Json }> }>;
}

async function readDocument(options: ServerOptions = {}): Promise<Record<string, Record<string, Operation>>> {
  const { httpUrl } = await startServer({ models, ...options });
  const response = await fetch(`${httpUrl}/docs/openapi.json`);
  return ((await response.json()) as { paths: Record<string, Record<string, Operation>> }).paths;
}

test("every operation has an id of its own, and each answer one content type", async () => {
  const alike = { "m-1": { driver: "null" }, m_1: { driver: "null" }, "m.1": { driver: "null" } };
  const paths = await readDocument({ models: { ...models, ...alike } });
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const ids = operations.map(({ operationId }) => operationId);
  expect(ids.every((id) => /^[a-z][A-Za-z0-9_]+$/.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  const answers = operations.flatMap(({ responses }) => Object.values(responses));
  expect(answers.filter(({ content = {} }) => Object.keys(content).length > 1)).toEqual([]);
});

test("the id of a model's operation stays the same when other models come", async () => {
  const idOf = (paths: Awaited<ReturnType<typeof readDocument>>, path: string) => paths[path]?.post?.operationId;
  const [one, two] = [{ m_1: { driver: "null" } }, { "m-1": { driver: "null" } }];
  const [alone, both] = [await readDocument({ models: one }), await readDocument({ models: { ...two, ...one } })];
  for (const [path, id] of [
    ["/v1/models/m_1:predict", "predict_m_1"],
    ["/v2/models/m_1/infer", "infer_m_1"],
    ["/predict/m_1", "proxy_m_1"],
    ["/v1/models/m_1:classify", "classify_m_1"],
  ] as const)
    expect([idOf(alone, path), idOf(both, path)]).toEqual([id, id]);
  expect(idOf(both, "/v2/models/m-1/infer")).toMatch(/^infer_m_1_[0-9a-f]{8}$/);
});

test("a model's values have the types, nesting and labels of its inputs and outputs, in both protocols", async () => {
  const paths = await readDocument();
  const v2 = paths["/v2/models/a%20b/infer"]?.post as Operation;
  const content: Json = v2.requestBody?.content["application/json"];
  const { schema, example } = content;
  expect(v2.requestBody?.description).toContain("has not been run");
  expect(paths["/v2/models/any/infer"]?.post?.requestBody).not.toHaveProperty("description");
  const [x, note, photo] = schema.properties.inputs.items.oneOf;
  const int8 = { type: "integer", minimum: -128, maximum: 127 };
  const row = { type: "array", items: int8, minItems: 3, maxItems: 3 };
  const rows = { type: "array", items: { type: "array", items: row, minItems: 2, maxItems: 2 } };
  expect(x.properties.data.anyOf).toEqual([{ type: "array", items: int8 }, rows]);
  expect([note.properties.datatype.enum, photo.properties.datatype.enum]).toEqual([["BYTES"], ["UINT8"]]);
  expect(example.inputs.map(({ shape }: { shape: number[] }) => shape)).toEqual([[1, 2, 3], [1], [1, 1, 1, 3]]);
  const v1 = paths["/v1/models/a%20b:predict"]?.post as Operation;
  expect(v1.requestBody?.content["application/json"]?.schema.properties.inputs).toMatchObject({
    ...{ required: ["x", "note", "photo"], properties: { x: rows } },
  });
  const answer = v1.responses["200"]?.content?.["application/json"]?.schema.properties.outputs;
  expect(answer.items).toEqual({ type: "string", enum: ["cat", "dog"] });
  expect(paths["/v1/models/any:predict"]?.post?.requestBody?.content["application/json"]?.schema).toMatchObject({
    properties: { inputs: {} },
  });
});

test("the original proxy takes what the document says, and answers as it says", async () => {
  const x = { name: "x", dtype: "int8", shape: [-1, 2] } as const;
  const hooks: Hooks = { inputs: [x], outputs: [x], process: (inputs) => inputs };
  const { httpUrl } = await startServer({ models: { "a b": { driver: "null", hooks }, any: { driver: "null" } } });
  const { paths } = (await (await fetch(`${httpUrl}/docs/openapi.json`)).json()) as { paths: Json };
  const { requestBody, responses } = paths["/predict/a%20b"].post;
  const { inputs } = requestBody.content["application/json"].schema.properties;
  const int8 = { type: "integer", minimum: -128, maximum: 127 };
  const data = { type: "array", items: { type: "array", items: int8, minItems: 2, maxItems: 2 } };
  expect(inputs.properties.x).toMatchObject({
    required: ["dtype", "data"],
    properties: { dtype: { enum: [6, "int8"] }, data },
  });
  expect(responses["200"].content["application/json"].schema.properties.x).toEqual(data);
  for (const dtype of [6, "int8"]) {
    const body = JSON.stringify({ inputs: { x: { dtype, data: [[1, -2]] } } });
    const answer = await fetch(`${httpUrl}/predict/a%20b`, { method: "POST", body });
    expect(await answer.json()).toEqual({ x: [[1, -2]] });
  }
  const { additionalProperties } =
    paths["/predict/any"].post.requestBody.content["application/json"].schema.properties.inputs;
  expect(additionalProperties.required).toEqual(["dtype", "data"]);
  expect(paths["/serving-proxy"].post.operationId).toBe("proxy_json");
});

test("classify and regress are there for models whose outputs may be such results", async () => {
  const process = () => ({ y: [0] });
  const outputs = [{ name: "y", dtype: "float32", shape: [-1, 3] }] as const;
  const classes = { driver: "null", hooks: { outputs, process } };
  const half = { path: "test/fixtures/models/half-plus-two.onnx" };
  const paths = await readDocument({ models: { ...models, classes, half } });
  const found = Object.keys(paths).filter((path) => /:(?:classify|regress)$/.test(path));
  expect(found.map((path) => path.slice("/v1/models/".length)).sort()).toEqual([
    ...["any:classify", "any:regress", "classes:classify", "half:regress"],
  ]);
  const { requestBody, responses } = (paths["/v1/models/half:regress"] as { post: Operation }).post;
  const feature = { anyOf: [{ type: "number" }, { type: "array", items: { type: "number" } }] };
  expect(requestBody?.content["application/json"]?.schema.properties.examples.items.properties).toEqual({ x: feature });
  const { results } = responses["200"]?.content?.["application/json"]?.schema.properties ?? {};
  expect(results).toEqual({ type: "array", items: { type: "number" } });
});

test("of each model the calls that most people make come first, and those of examples last", async () => {
  const paths = await readDocument({
    models: { half: { path: "test/fixtures/models/half-plus-two.onnx" }, any: { driver: "null" } },
  });
  const of = (name: string) => Object.keys(paths).filter((path) => path.includes(`/${name}`));
  const first = (name: string) => [
    ...[`/v2/models/${name}/infer`, `/v1/models/${name}:predict`, `/predict/${name}`, `/v2/models/${name}/ready`],
  ];
  expect(of("half")).toEqual([...first("half"), "/v1/models/half:regress"]);
  expect(of("any")).toEqual([...first("any"), "/v1/models/any:classify", "/v1/models/any:regress"]);
});

test("a call that needs no model answers in the type that the document says", async () => {
  const { httpUrl } = await startServer({ models });
  const paths = await readDocument();
  const plain = Object.entries(paths).filter(([path, { get }]) => get !== undefined && !path.includes("{"));
  expect(plain.map(([path]) => path)).toEqual(
    expect.arrayContaining(["/ping", "/health", "/llms.txt", "/metrics", "/v1/models"]),
  );
  for (const [path, { get }] of plain) {
    const answer = await fetch(httpUrl + path);
    const type = (await answer.text()) === "" ? [] : [answer.headers.get("content-type")?.replace(/;.*/, "")];
    const { content = {} } = get?.responses["200"] ?? {};
    expect([path, answer.status, ...type]).toEqual([path, 200, ...Object.keys(content)]);
  }
});

test("an example of the document is a request that the model answers, an image among it", async () => {
  const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
  const half = { path: "test/fixtures/models/half-plus-two.onnx" };
  // A chain that decodes the image of a request in its hooks.
  const decodes: Hooks = {
    inputs: [{ name: "image", dtype: "bytes" }],
    outputs: [{ name: "sizes", dtype: "int32", shape: [3] }],
    process: async ({ image }) => ({ sizes: [...(await decodeImage(image as Tensor)).shape] }),
  };
  const { httpUrl } = await startServer({
    models: { pixels: { driver }, half, chain: { driver: "null", hooks: decodes } },
  });
  const { paths } = (await (await fetch(`${httpUrl}/docs/openapi.json`)).json()) as { paths: Json };
  const answers: Record<string, Json> = {};
  for (const [path, { post }] of Object.entries<Json>(paths)) {
    const example = post?.requestBody?.content["application/json"]?.example;
    const request = { method: "POST", body: JSON.stringify(example) };
    if (example !== undefined) answers[path] = await (await fetch(httpUrl + path, request)).json();
  }
  expect(answers).toEqual({
    "/v1/models/pixels:predict": { outputs: { photo: [[[[128, 128, 128]]]], note: [["a"]] } },
    "/v2/models/pixels/infer": expect.objectContaining({
      outputs: [expect.objectContaining({ shape: [1, 1, 1, 3] }), expect.objectContaining({ shape: [1, 1] })],
    }),
    "/predict/pixels": { photo: [[[[128, 128, 128]]]], note: [["a"]] },
    "/v1/models/chain:predict": { outputs: [1, 1, 3] },
    "/predict/chain": { sizes: [1, 1, 3] },
    "/v2/models/chain/infer": expect.objectContaining({ outputs: [expect.objectContaining({ data: [1, 1, 3] })] }),
    "/v1/models/half:predict": { outputs: [2.5] },
    "/v1/models/half:regress": { results: [2.5] },
    "/predict/half": { y: [2.5] },
    "/v2/models/half/infer": expect.objectContaining({ outputs: [expect.objectContaining({ data: [2.5] })] }),
  });
});

test("the document has no path of a protocol that --protocols leaves out", async () => {
  const paths = Object.keys(await readDocument({ servedProtocols: "kserve,ollama" }));
  expect(paths).toEqual(expect.arrayContaining(["/v2/models/any/infer", "/api/chat", "/health", "/metrics"]));
  expect(paths.filter((path) => !/^\/(?:v2|api|health|metrics|llms\.txt)/.test(path))).toEqual([]);
});

test("/docs is the page, with its headers, and not there without the page", async () => {
  const { httpUrl } = await startServer({ models });
  const page = await fetch(`${httpUrl}/docs`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
  expect(await page.text()).toContain('src="ui/page.js"');
  const slash = await fetch(`${httpUrl}/docs/`, { redirect: "manual" });
  expect([slash.status, slash.headers.get("location")]).toEqual([308, "../docs"]);
  const bare = await startServer({ models, ui: false });
  expect((await fetch(`${bare.httpUrl}/docs`)).status).toBe(404);
  expect((await fetch(`${bare.httpUrl}/docs/openapi.json`)).status).toBe(404);
});

test("a caller gets the models that it may know of, and none without a name", async () => {
  const { httpUrl } = await startServer({
    models: { ...models, default: { driver: "null" } },
    auth: await authFiles(),
  });
  expect((await fetch(`${httpUrl}/docs/openapi.json`)).status).toBe(401);
  const ask = async (name: string, password: string) => {
    const headers = { authorization: basic(name, password) };
    const { paths } = (await (await fetch(`${httpUrl}/docs/openapi.json`, { headers })).json()) as { paths: object };
    return Object.keys(paths).filter((path) => path.endsWith(":predict"));
  };
  expect(await ask("alice", "open sesame")).toEqual(["/v1/models/default:predict"]);
  expect((await ask("root", "toor")).length).toBe(3);
});

test("beyond two thousand inputs and outputs, models are described as any", async () => {
  const wide = (count: number): Hooks => ({
    inputs: Array.from({ length: count }, (_, at) => ({ name: `x${at}`, dtype: "float32", shape: [-1, 3] })),
    process: () => ({}),
  });
  const all = { most: wide(1900), more: wide(1900), few: wide(2) };
  const pairs = Object.entries(all).map(([name, own]) => [name, { driver: "null", hooks: own }] as const);
  const paths = await readDocument({ models: Object.fromEntries(pairs) });
  const tensors = Object.keys(all).map((name) => {
    const operation = paths[`/v2/models/${name}/infer`]?.post;
    return operation?.requestBody?.content["application/json"]?.schema.properties.inputs.items.oneOf?.length;
  });
  expect(tensors).toEqual([1900, undefined, 2]);
});
