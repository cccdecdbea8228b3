import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeModel, type OnnxGraph, type OnnxNode } from "../test/fixtures/make/onnx-writer.ts";

/** Numbers of BERT's vocabulary are in the order of how frequent words are; the words begin behind this one. */
const FIRST_WORD = 1995;

/**
 * Writes a cross-encoder beside the tokenizer of a BERT: it scores a pair by the words of the first text that the
 * second one has too, each weighed by how rare it is.
 */
export function makeReranker(tokenizer: string, target: string): void {
  mkdirSync(target, { recursive: true });
  for (const name of ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"])
    copyFileSync(join(tokenizer, name), join(target, name));
  const config = { model_type: "bert", architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } };
  writeFileSync(join(target, "config.json"), JSON.stringify({ ...config, max_position_embeddings: 512 }));
  writeFileSync(join(target, "model.onnx"), encodeModel({ opset: 13, graph: GRAPH }));
}

const node = (op: string, inputs: readonly string[], output: string, attributes = {}): OnnxNode => ({
  ...{ op, inputs, outputs: [output], attributes },
});
const input = (name: string) => ({ name, type: { elemType: "int64", shape: ["batch", "tokens"] } }) as const;
const number = (name: string, value: number) =>
  ({ name, dtype: "float32", shape: [], data: Float32Array.of(value) }) as const;
const axis = (name: string, value: number) =>
  ({ name, dtype: "int64", shape: [1], data: BigInt64Array.of(BigInt(value)) }) as const;
/** Numbers of element types in ONNX. */
const [FLOAT, BOOL] = [1, 9];

const GRAPH: OnnxGraph = {
  name: "words in common",
  inputs: ["input_ids", "attention_mask", "token_type_ids"].map(input),
  outputs: [{ name: "logits", type: { elemType: "float32", shape: ["batch", 1] } }],
  initializers: [
    ...[axis("one", 1), axis("two", 2)],
    ...[number("first", Math.log(FIRST_WORD)), number("least", 1), number("steep", 8), number("middle", 4)],
  ],
  nodes: [
    node("Cast", ["token_type_ids"], "second", { to: BOOL }),
    node("Not", ["second"], "asked"),
    // A word of the first text by a word of the second one.
    node("Unsqueeze", ["input_ids", "two"], "rows"),
    node("Unsqueeze", ["input_ids", "one"], "columns"),
    node("Equal", ["rows", "columns"], "same"),
    node("Unsqueeze", ["second", "one"], "ofSecond"),
    node("And", ["same", "ofSecond"], "hits"),
    node("Cast", ["hits"], "hitNumbers", { to: FLOAT }),
    node("ReduceMax", ["hitNumbers"], "found", { axes: [2], keepdims: 0 }),
    // How rare each word of the first text is; those before the words, and the padding, are nothing.
    node("Cast", ["input_ids"], "numbers", { to: FLOAT }),
    node("Max", ["numbers", "least"], "positive"),
    node("Log", ["positive"], "logs"),
    node("Sub", ["logs", "first"], "above"),
    node("Relu", ["above"], "rare"),
    node("Cast", ["asked"], "askedNumbers", { to: FLOAT }),
    node("Mul", ["rare", "askedNumbers"], "weights"),
    node("Mul", ["weights", "found"], "common"),
    node("ReduceSum", ["common", "one"], "got"),
    node("ReduceSum", ["weights", "one"], "all"),
    node("Max", ["all", "least"], "atLeast"),
    node("Div", ["got", "atLeast"], "share"),
    node("Mul", ["share", "steep"], "scaled"),
    node("Sub", ["scaled", "middle"], "logits"),
  ],
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , tokenizer = "", target = ""] = process.argv;
  makeReranker(tokenizer, target);
}
