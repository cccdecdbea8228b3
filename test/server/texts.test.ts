import { join } from "node:path";
import { expect, test } from "vitest";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../helpers/text-model.ts";

/** A folder as transformers and its exporters write it. */
function modelFolder(): string {
  return tempFolder({
    ...toyTokenizer(),
    "config.json": JSON.stringify({ architectures: ["BertModel"], hidden_size: 2, max_position_embeddings: 16 }),
    "model.onnx": toyEncoder({ table: tableOf({ good: [3, 0], bad: [0, 3] }) }),
  });
}

const ASKED = { options: { texts: "true" } };

const post = async (url: string, body: unknown) => {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return answer.json();
};

test("a folder with a tokenizer beside an encoder is served: every protocol takes its texts, and its tokens too", async () => {
  const { httpUrl, grpcAddress } = await startServer({
    ...ASKED,
    stages: [{ path: modelFolder() }],
    name: "search",
  } as never);
  const infer = (inputs: object[]) => post(`${httpUrl}/v2/models/search/infer`, { inputs });
  const text = { name: "text", datatype: "BYTES", shape: [2], data: ["good", "bad bad"] };
  expect(await infer([text])).toMatchObject({
    outputs: [{ name: "embedding", datatype: "FP32", shape: [2, 2], data: [1, 0, 0, 1.5] }],
  });
  const ids = { name: "input_ids", datatype: "INT64", shape: [1, 1], data: [4] };
  const mask = { name: "attention_mask", datatype: "INT64", shape: [1, 1], data: [1] };
  expect(await infer([ids, mask])).toMatchObject({ outputs: [{ name: "last_hidden_state", data: [3, 0] }] });
  expect(await post(`${httpUrl}/v1/models/search:predict`, { instances: ["good"] })).toEqual({ predictions: [[1, 0]] });
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

test("hooks work with a tokenizer, by kserving/text", async () => {
  const folder = modelFolder();
  const hooks = join(folder, "..", `${folder.split("/").pop()}`, "own-hooks.ts");
  const source = `
    import { loadTokenizer, textsOf } from "kserving/text";
    const tokenizer = await loadTokenizer(${JSON.stringify(folder)});
    export const preprocess = async ({ words }) => {
      const { inputIds, attentionMask } = await tokenizer.encode(textsOf(words));
      return { input_ids: inputIds, attention_mask: attentionMask };
    };
  `;
  const { writeFileSync } = await import("node:fs");
  writeFileSync(hooks, source);
  const model = { stages: [{ path: join(folder, "model.onnx") }], hooks, name: "words" };
  const { httpUrl } = await startServer(model as never);
  const inputs = [{ name: "words", datatype: "BYTES", shape: [1], data: ["bad"] }];
  expect(await post(`${httpUrl}/v2/models/words/infer`, { inputs })).toMatchObject({
    outputs: [{ shape: [1, 3, 2], data: [0, 0, 0, 3, 0, 0] }],
  });
});
