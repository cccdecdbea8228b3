import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { NamedModelOptions } from "../../src/index.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../test/helpers/text-model.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const WAV = Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1").toString("base64");
const bytes = (base64: string) => `Buffer.from("${base64}", "base64")`;

/** Tools by the names that MCP's conformance suite calls, each a pipeline without a model. */
const TOOLS: Readonly<Record<string, string>> = {
  test_simple_text: `({ text: ["This is a simple text response for testing."] })`,
  test_image_content: `({ image: ${bytes(PNG)} })`,
  test_audio_content: `({ sound: ${bytes(WAV)} })`,
  test_error_handling: `{ throw new Error("This tool intentionally returns an error for testing"); }`,
};
const PROGRESS = `export async function* process() {
  for (const text of ["one", "two", "three"]) yield { text: [text] };
}`;
const SUM = `export const inputs = [{ name: "x", dtype: "float32", shape: [-1] }];
export const outputs = [{ name: "sum", dtype: "float32", shape: [1] }];
export const process = ({ x }) => ({ sum: [x.data.reduce((sum, value) => sum + value, 0)] });`;

/** A conversation with tools, pictures and sound, a model of embeddings, a reranker, and tools, written to `folder`. */
export function toyModels(folder: string): Readonly<Record<string, NamedModelOptions>> {
  const write = (name: string, text: string | Uint8Array) => {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const encoder = (name: string, config: object, model: Uint8Array): NamedModelOptions => {
    for (const [file, text] of Object.entries(toyTokenizer({ config: { model_max_length: 64 } })))
      write(`${name}/${file}`, text);
    write(`${name}/config.json`, JSON.stringify({ model_type: "bert", ...config }));
    return { path: write(`${name}/model.onnx`, model), driver: "onnx", options: { texts: "true" } };
  };
  const vectors = tableOf({ good: [3, 0, 1], great: [2, 0, 1], bad: [0, 4, 1], awful: [0, 3, 1] });
  const scores = tableOf({ good: [4], great: [3], bad: [-4], awful: [-3] });
  const inputs = ["input_ids", "attention_mask", "token_type_ids"];
  const tools = Object.entries(TOOLS).map(([name, body]) => [name, `export const process = () => ${body};`] as const);
  const hooks = [...tools, ["test_tool_with_progress", PROGRESS] as const].map(
    ([name, text]) => [name, `export const inputs = [];\n${text}`] as const,
  );
  return {
    talk: { driver: "null", hooks: fileURLToPath(new URL("talk-hooks.ts", import.meta.url)) },
    embed: encoder("embed", { architectures: ["BertModel"], hidden_size: 3 }, toyEncoder({ table: vectors })),
    rank: encoder(
      "rank",
      { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } },
      toyEncoder({ table: scores, head: "mean", output: "logits", inputs }),
    ),
    ...Object.fromEntries(
      [...hooks, ["sum", SUM] as const].map(([name, text]) => [
        name,
        { driver: "null", hooks: write(`${name}.mjs`, text) },
      ]),
    ),
  };
}
