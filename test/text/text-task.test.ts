import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { POOLING_KINDS } from "../../src/text/pooling.ts";
import { ENCODERS, filesOfTexts, readTextTask } from "../../src/text/text-task.ts";
import { SENTENCE_CONFIGS } from "../../src/text/tokenizer-files.ts";
import { EXPORT_FOLDERS } from "../../src/text/tokenizer-folder.ts";
import { inspectFile } from "../../src/tools/inspection/inspect-file.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { toyEncoder } from "../helpers/text-model.ts";

const json = (files: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(files).map(([name, value]) => [name, JSON.stringify(value)]));
const taskOf = (files: Record<string, unknown>, model = "model.onnx") =>
  readTextTask(join(tempFolder(json({ "tokenizer.json": {}, ...files })), model));
const architecture = (name: string, more: object = {}) => ({
  "config.json": { architectures: [name], model_type: "bert", ...more },
});

const MODULES = [
  { path: "", type: "sentence_transformers.models.Transformer" },
  { path: "1_Pooling", type: "sentence_transformers.models.Pooling" },
  { path: "2_Normalize", type: "sentence_transformers.models.Normalize" },
];

const POOLED = { pooling_mode_mean_tokens: true };

test("a model of sentence-transformers pools and normalises as its modules say", async () => {
  const files = {
    ...architecture("BertModel", { hidden_size: 384, max_position_embeddings: 512 }),
    "modules.json": MODULES,
    "1_Pooling/config.json": { pooling_mode_mean_tokens: true, pooling_mode_cls_token: false },
    "sentence_bert_config.json": { max_seq_length: 256 },
  };
  expect(await taskOf(files)).toMatchObject({
    ...{ kind: "embedding", pooling: ["mean"], normalises: true, dimensions: 384 },
    ...{ maxTokens: 256, source: "modules.json" },
  });
  const newer = {
    ...files,
    "modules.json": MODULES.slice(0, 2),
    "1_Pooling/config.json": { pooling_mode: "lasttoken" },
  };
  expect(await taskOf(newer)).toMatchObject({ pooling: ["lasttoken"], normalises: false });
});

test("sentence-transformers' file about the encoder is the first one of its names, which goes along with the model", async () => {
  const first = { max_seq_length: 100, do_lower_case: true };
  const files = { ...architecture("BertModel"), "modules.json": MODULES, "1_Pooling/config.json": POOLED };
  for (const name of SENTENCE_CONFIGS) {
    const all = { ...files, [name]: first };
    expect(await taskOf(all)).toMatchObject({ maxTokens: 100, prepares: { lowers: true } });
    const folder = tempFolder(json({ "tokenizer.json": {}, ...all }));
    expect(await filesOfTexts(join(folder, "model.onnx"))).toContain(join(folder, name));
  }
  const both = { "sentence_xlnet_config.json": { max_seq_length: 7 }, "sentence_roberta_config.json": first };
  expect(await taskOf({ ...files, ...both })).toMatchObject({ maxTokens: 100 });
  const [row = ""] = readFileSync("docs/text.md", "utf8").match(/^\| How long may a text be\?.*$/m) ?? [];
  for (const name of SENTENCE_CONFIGS) expect(row).toContain(name.split("_")[1]);
});

test("in the layout of older versions of sentence-transformers the encoder has a folder of its own", async () => {
  const [first, ...others] = MODULES;
  const folder = tempFolder(
    json({
      ...{ "modules.json": [{ ...first, path: "0_Transformer" }, ...others], "0_Transformer/tokenizer.json": {} },
      "0_Transformer/config.json": { architectures: ["DistilBertModel"], model_type: "distilbert", dim: 768 },
      "0_Transformer/sentence_bert_config.json": { max_seq_length: 128 },
      "1_Pooling/config.json": { pooling_mode_cls_token: true },
      "config_sentence_transformers.json": { prompts: { q: "query: " }, default_prompt_name: "q" },
    }),
  );
  for (const path of [folder, join(folder, "0_Transformer/model.onnx")])
    expect(await readTextTask(path)).toMatchObject({
      ...{ kind: "embedding", folder: join(folder, "0_Transformer"), pooling: ["cls"], normalises: true },
      ...{ dimensions: 768, maxTokens: 128, prepares: { prompt: "query: " }, source: "modules.json" },
    });
  const names = (await filesOfTexts(folder)).map((file) => relative(folder, file));
  expect(names).toEqual(["modules.json", "config_sentence_transformers.json", "0_Transformer", "1_Pooling"]);
});

test("modules that are not known are left to their own program", async () => {
  const dense = [...MODULES, { path: "3_Dense", type: "sentence_transformers.models.Dense" }];
  expect(await taskOf({ ...architecture("BertModel"), "modules.json": dense })).toBeUndefined();
  await expect(taskOf({ ...architecture("BertModel"), "modules.json": MODULES })).rejects.toThrow(
    "to which modules.json points",
  );
  const odd = { ...architecture("BertModel"), "modules.json": MODULES, "1_Pooling/config.json": {} };
  await expect(taskOf(odd)).rejects.toThrow("names no way of pooling that is known");
});

test("an encoder without a head gives the mean of its tokens, as sentence-transformers has it", async () => {
  const files = {
    ...architecture("BertModel", { hidden_size: 8 }),
    "tokenizer_config.json": { model_max_length: 512 },
  };
  expect(await taskOf(files)).toMatchObject({
    kind: "embedding",
    pooling: ["mean"],
    maxTokens: 512,
    source: "config.json",
  });
});

test("classifiers of texts are scores with one label, else classes", async () => {
  const one = architecture("BertForSequenceClassification", { id2label: { 0: "LABEL_0" } });
  expect(await taskOf(one)).toMatchObject({ kind: "scores", activation: "sigmoid" });
  const plain = architecture("BertForSequenceClassification", {
    id2label: { 0: "LABEL_0" },
    sentence_transformers: { activation_fn: "torch.nn.modules.linear.Identity" },
  });
  expect(await taskOf(plain)).toMatchObject({ kind: "scores", activation: "none" });
  const older = architecture("BertForSequenceClassification", {
    id2label: { 0: "LABEL_0" },
    sbert_ce_default_activation_function: "torch.nn.modules.linear.Identity",
  });
  expect(await taskOf(older)).toMatchObject({ kind: "scores", activation: "none" });
  const activated = (activation_fn: unknown) =>
    taskOf(
      architecture("BertForSequenceClassification", {
        id2label: { 0: "LABEL_0" },
        sentence_transformers: { activation_fn },
      }),
    );
  expect(await activated("torch.nn.modules.activation.Tanh")).toMatchObject({ kind: "scores", activation: "tanh" });
  expect(await activated("torch.nn.modules.activation.Sigmoid")).toMatchObject({ activation: "sigmoid" });
  expect(await activated(null)).toMatchObject({ activation: "sigmoid" });
  for (const wrong of ["torch.nn.modules.activation.ReLU", "constructor", 5])
    await expect(activated(wrong)).rejects.toThrow("which is not known; expected one of Identity, Sigmoid, Tanh");
  const labels = { id2label: { 1: "positive", 0: "negative" } };
  const two = architecture("DistilBertForSequenceClassification", labels);
  expect(await taskOf(two)).toMatchObject({
    ...{ kind: "classes", activation: "softmax", labels: ["negative", "positive"] },
  });
  const many = architecture("BertForSequenceClassification", { ...labels, problem_type: "multi_label_classification" });
  expect(await taskOf(many)).toMatchObject({ kind: "classes", activation: "sigmoid" });
  const words = architecture("BertForTokenClassification", { id2label: { 0: "O", 1: "B-PER" } });
  expect(await taskOf(words)).toMatchObject({ kind: "entities", labels: ["O", "B-PER"] });
});

test("RoBERTa's positions begin behind those of the padding", async () => {
  const files = architecture("XLMRobertaModel", {
    ...{ model_type: "xlm-roberta", max_position_embeddings: 514, pad_token_id: 1 },
  });
  expect(await taskOf(files)).toMatchObject({ maxTokens: 512 });
});

test("other models are none of texts: without a tokenizer or a configuration, and those that write", async () => {
  expect(await readTextTask("")).toBeUndefined();
  expect(await readTextTask(join(tempFolder(json(architecture("BertModel"))), "model.onnx"))).toBeUndefined();
  expect(await taskOf({})).toBeUndefined();
  expect(await taskOf(architecture("LlamaForCausalLM"))).toBeUndefined();
  expect(await taskOf(architecture("BertModel", { is_decoder: true }))).toBeUndefined();
  expect(await taskOf(architecture("T5Model", { model_type: "t5" }))).toBeUndefined();
  expect(await taskOf(architecture("CLIPModel", { model_type: "clip" }))).toBeUndefined();
  expect(await taskOf(architecture("BertModel", { is_encoder_decoder: true }))).toBeUndefined();
  const writer = architecture("BartForSequenceClassification", { is_encoder_decoder: true });
  expect(await taskOf(writer)).toBeUndefined();
});

test("a graph in the folder onnx has the tokenizer above it", async () => {
  const files = architecture("BertModel");
  expect(await taskOf(files, "onnx/model.onnx")).toMatchObject({ kind: "embedding" });
  expect(await taskOf(files, "other/model.onnx")).toBeUndefined();
});

test("inspect says the task, the pooling, the dimensions and the longest text", async () => {
  const files = {
    ...architecture("BertModel", { hidden_size: 384, max_position_embeddings: 512 }),
    ...{ "tokenizer.json": {}, "modules.json": MODULES, "1_Pooling/config.json": { pooling_mode_mean_tokens: true } },
  };
  const model = toyEncoder({ table: [[1]] });
  const { metadata } = await inspectFile(join(tempFolder({ ...json(files), "model.onnx": model }), "model.onnx"));
  expect(metadata).toMatchObject({
    ...{ task: "embedding of texts, by modules.json", pooling: "mean, to a length of 1" },
    ...{ dimensions: "384", "longest text": "512 tokens" },
  });
  const damaged = tempFolder({ "tokenizer.json": "{}", "config.json": "{", "model.onnx": model });
  const { format, metadata: rest } = await inspectFile(join(damaged, "model.onnx"));
  expect(format).toContain("ONNX");
  expect(rest.texts).toContain("none: ");
});

/** Words in the style of code in the answers of the guide's table to a question. */
function answersOf(question: string): readonly string[] {
  const table = /## How does it know\?\n([\s\S]*?)\n## /.exec(readFileSync("docs/text.md", "utf8"))?.[1] ?? "";
  const rows = table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const first = rows.findIndex(([, cell]) => cell?.startsWith(question));
  const next = rows.findIndex(([, cell], index) => index > first && cell !== "");
  const found = rows.slice(first, next === -1 ? undefined : next).map(([, , answer = ""]) => answer);
  return found.flatMap((answer) => Array.from(answer.matchAll(/`([^`]+)`/g), ([, word = ""]) => word));
}

test("the guide's table has the encoders, the kinds of pooling, the modules and the folders that the code has", async () => {
  expect(new Set(answersOf("Is it an embedding model?"))).toEqual(
    new Set(["Transformer", "Pooling", "Normalize", "Model", ...ENCODERS]),
  );
  expect(answersOf("Which pooling?").toSorted()).toEqual([...POOLING_KINDS, "sentence_embedding"].toSorted());
  expect(answersOf("Is it a model of texts?")).toEqual(expect.arrayContaining([...EXPORT_FOLDERS]));
  for (const [question, kind] of [
    ["Does it score pairs?", "scores"],
    ["Does it classify words?", "entities"],
  ] as const) {
    const [ending = ""] = answersOf(question);
    expect(await taskOf(architecture(`Bert${ending}`, { id2label: { 0: "A" } }))).toMatchObject({ kind });
  }
});
