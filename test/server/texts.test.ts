import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeNpy } from "../../src/tensor/codecs/npy.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../helpers/text-model.ts";

/** A folder as transformers and its exporters write it. */
function modelFolder(inputs?: readonly string[]): string {
  return tempFolder({
    ...toyTokenizer(),
    "config.json": JSON.stringify({
      architectures: ["BertModel"],
      model_type: "bert",
      hidden_size: 2,
      max_position_embeddings: 16,
    }),
    "model.onnx": toyEncoder({ table: tableOf({ good: [3, 0], bad: [0, 3] }), ...(inputs && { inputs }) }),
  });
}

const ASKED = { options: { texts: "true" } };

/** Members that tests look into. */
interface Answered {
  readonly data: readonly { readonly embedding: readonly number[] }[];
  readonly error: { readonly message: string };
}

const post = async (url: string, body: unknown): Promise<Answered> => {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await answer.json()) as Answered;
};

test("a folder with a tokenizer beside an encoder is served without an option: every protocol takes its texts, and its tokens too", async () => {
  const { httpUrl, grpcAddress } = await startServer({
    stages: [{ path: modelFolder() }],
    name: "search",
  });
  const infer = (inputs: object[]) => post(`${httpUrl}/v2/models/search/infer`, { inputs });
  const text = { name: "text", datatype: "BYTES", shape: [2], data: ["good", "bad bad"] };
  expect(await infer([text])).toMatchObject({
    outputs: [{ name: "embedding", datatype: "FP32", shape: [2, 2], data: [1, 0, 0, 1.5] }],
  });
  const ids = { name: "input_ids", datatype: "INT64", shape: [1, 1], data: [4] };
  const mask = { name: "attention_mask", datatype: "INT64", shape: [1, 1], data: [1] };
  expect(await infer([ids, mask])).toMatchObject({ outputs: [{ name: "last_hidden_state", data: [3, 0] }] });
  expect(await post(`${httpUrl}/v1/models/search:predict`, { instances: ["good"] })).toEqual({ predictions: [[1, 0]] });
  // Clients of TensorFlow Serving often name the usual signature.
  const tokens = { inputs: { input_ids: [[4]], attention_mask: [[1]] }, signature_name: "serving_default" };
  expect(await post(`${httpUrl}/v1/models/search:predict`, tokens)).toEqual({ outputs: [[[3, 0]]] });
  const embedded = await post(`${httpUrl}/v1/embeddings`, { input: ["good", "bad"] });
  expect(embedded.data.map(({ embedding }) => embedding)).toEqual([
    [1, 0],
    [0, 1],
  ]);
  const metadata = await (await fetch(`${httpUrl}/v2/models/search`)).json();
  expect(metadata).toMatchObject({ inputs: [{ name: "text", datatype: "BYTES", shape: [-1] }] });
  const grpc = connectKserve(grpcAddress as never);
  const message = {
    model_name: "search",
    inputs: [
      { ...text, data: undefined, contents: { bytes_contents: ["good", "bad"].map((one) => Buffer.from(one)) } },
    ],
  };
  expect(await grpc("ModelInfer", message)).toMatchObject({ outputs: [{ name: "embedding" }] });
});

/** A server of the model with hooks beside it, in TypeScript. */
async function withHooks(folder: string, source: string, more: object = {}): Promise<string> {
  const hooks = join(folder, "own-hooks.ts");
  writeFileSync(hooks, source);
  const model = { stages: [{ path: join(folder, "model.onnx") }], hooks, name: "words", ...more };
  return (await startServer(model as never)).httpUrl;
}

const EXAMPLE = /```ts\n(import \{ defineHooks \}.*?)```/s.exec(readFileSync("docs/text.md", "utf8"))?.[1] ?? "";
const WORD = { name: "text", datatype: "BYTES", shape: [1], data: ["bad bad"] };

test("the guide's hooks work as they stand: they have a tokenizer, by kserving/text", async () => {
  const folder = modelFolder(["input_ids", "attention_mask", "token_type_ids"]);
  expect(EXAMPLE).toContain('"./all-MiniLM-L6-v2"');
  const httpUrl = await withHooks(folder, EXAMPLE.replace("./all-MiniLM-L6-v2", folder));
  expect(await post(`${httpUrl}/v2/models/words/infer`, { inputs: [WORD] })).toMatchObject({
    outputs: [{ name: "embedding", shape: [1, 2], data: [0, 1] }],
  });
});

test("a model whose only input are numbers of tokens takes them without a name, and texts", async () => {
  const { httpUrl } = await startServer({ stages: [{ path: modelFolder(["input_ids"]) }], name: "search" });
  const url = `${httpUrl}/v1/models/search:predict`;
  expect(await post(url, { instances: [[4, 5]] })).toEqual({
    predictions: [
      [
        [3, 0],
        [0, 3],
      ],
    ],
  });
  expect(await post(url, { inputs: [[4]] })).toEqual({ outputs: [[[3, 0]]] });
  expect(await post(url, { instances: ["good"] })).toEqual({ predictions: [[1, 0]] });
});

test("nothing changes where hooks or other models expect its numbers of tokens, where it is told, and beside damaged files", async () => {
  const one = { datatype: "INT64", shape: [1, 1] };
  const inputs = [
    { ...one, name: "input_ids", data: [4] },
    { ...one, name: "attention_mask", data: [1] },
  ];
  const identity = (values: unknown) => values;
  const folder = modelFolder();
  const damaged = modelFolder();
  writeFileSync(join(damaged, "tokenizer.json"), "{");
  const [path, broken] = [join(folder, "model.onnx"), join(damaged, "model.onnx")];
  for (const model of [
    { stages: [{ path }], hooks: { preprocess: identity } },
    { stages: [{ path }], options: { texts: "false" } },
    { stages: [{ driver: "null" }, { path }] },
    { stages: [{ path: broken }] },
  ]) {
    const { httpUrl } = await startServer({ ...model, name: "words" } as never);
    expect(await post(`${httpUrl}/v2/models/words/infer`, { inputs })).toMatchObject({
      outputs: [{ name: "last_hidden_state", data: [3, 0] }],
    });
    const answer = await post(`${httpUrl}/v1/embeddings`, { input: "good" });
    expect(answer.error.message).toContain("takes texts and gives vectors");
  }
});

test("hooks of a model that takes texts give it texts", async () => {
  const source = `
    const more = (text) => new TextEncoder().encode(new TextDecoder().decode(text) + " good");
    export const preprocess = ({ text }) => ({ text: { ...text, data: text.data.map(more) } });
    export const postprocess = ({ embedding }) => ({ vector: embedding });
  `;
  const httpUrl = await withHooks(modelFolder(), source, ASKED);
  expect(await post(`${httpUrl}/v2/models/words/infer`, { inputs: [WORD] })).toMatchObject({
    outputs: [{ name: "vector", shape: [1, 2], data: [expect.closeTo(0.6), expect.closeTo(1.2)] }],
  });
});

test("numbers of tokens go to the model's own inputs in the protocols whose requests have no signature", async () => {
  const { httpUrl } = await startServer({
    stages: [{ path: modelFolder() }],
    name: "search",
    simpleTensorflowServing: true,
  });
  const data = { input_ids: [[4]], attention_mask: [[1]] };
  expect(await post(httpUrl, { model_name: "search", data })).toMatchObject({ last_hidden_state: [[[3, 0]]] });
  expect(await post(httpUrl, { model_name: "search", data: { text: ["good"] } })).toMatchObject({
    embedding: [[1, 0]],
  });
  const single = await startServer({ stages: [{ path: modelFolder(["input_ids"]) }], name: "search" });
  const body = writeNpy(createTensor("int64", [1, 1], BigInt64Array.of(4n)));
  const answer = await fetch(`${single.httpUrl}/invocations`, {
    ...{ method: "POST", body, headers: { "content-type": "application/x-npy", accept: "application/json" } },
  });
  expect(await answer.json()).toEqual({ predictions: [[[3, 0]]] });
});
