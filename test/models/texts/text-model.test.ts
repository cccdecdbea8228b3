import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PredictCall } from "../../../src/drivers/driver.ts";
import onnx from "../../../src/drivers/onnx/onnx.ts";
import { invalidArgument } from "../../../src/errors.ts";
import { loadHostedModel } from "../../../src/models/load-hosted-model.ts";
import { withTexts } from "../../../src/models/texts/text-model.ts";
import { createSilentLogger, type Logger } from "../../../src/observability/logger.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { exampleValues } from "../../../src/protocols/example-values.ts";
import { toNested } from "../../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../../src/tensor/plain-value.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";

interface Folder {
  readonly model: Uint8Array;
  readonly config: object;
  readonly files?: Record<string, string>;
  readonly options?: Record<string, string>;
  readonly log?: Logger;
}

async function load({ model, config, files = {}, options = {}, log = createSilentLogger() }: Folder) {
  const own = { ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model, ...files };
  const path = join(tempFolder(own), "model.onnx");
  const loaded = await loadHostedModel({ driver: onnx, path, options: { texts: "true", ...options }, threads: 1 }, log);
  const run = (inputs: Values, signature = "serving_default") =>
    loaded.predict(toTensors(inputs), { signature, signal: new CancelSource() });
  return { ...loaded, path, run };
}

const numbers = (tensors: Tensors, name: string) =>
  toNested(tensors[name]!, (value) => Math.round(Number(value) * 1000) / 1000);
const texts = (tensors: Tensors, name: string) =>
  toNested(tensors[name]!, (value) => Buffer.from(value as never).toString());

const table = tableOf({ good: [3, 0, 0], bad: [0, 4, 0], "[CLS]": [0, 0, 5] });
const encoder = {
  model: toyEncoder({ table }),
  config: { architectures: ["BertModel"], model_type: "bert", hidden_size: 3 },
};
const modules = (...types: string[]) => ({
  "modules.json": JSON.stringify(
    types.map((type) => ({ type: `sentence_transformers.models.${type}`, path: "1_Pooling" })),
  ),
});

describe("without the option", () => {
  // Among them are those of hooks, for whose models the server switches it off.
  const hints: unknown[] = [];
  const log = { ...createSilentLogger(), info: (...said: unknown[]) => void hints.push(said) };
  const options = { texts: "false", truncate: "of the hooks", max_tokens: "some", dimensions: "x" };

  test("a model is as it was, options of these names are others', and the log says that it could take texts", async () => {
    const plain = await load({ ...encoder, options, log });
    expect(Object.keys(plain.signatures)).toEqual(["serving_default"]);
    expect(plain.signatures.serving_default?.inputs?.map(({ name }) => name)).toEqual(["input_ids", "attention_mask"]);
    await plain.close();
    expect(hints).toEqual([
      ["the model takes numbers of tokens; -o texts=true has it take texts", { task: "embedding", by: "config.json" }],
    ]);
  });

  test("damaged files beside a model keep none from loading", async () => {
    const files = { "tokenizer.json": "{", "tokenizer_config.json": "[" };
    await (await load({ ...encoder, files, options })).close();
    await expect(load({ ...encoder, files })).rejects.toThrow("tokenizer");
  });
});

test("a model takes texts by itself unless files say nothing, or are damaged", async () => {
  const auto = { texts: "auto" };
  const model = await load({ ...encoder, options: auto });
  expect(Object.keys(model.signatures)).toContain("tokens");
  await model.close();
  for (const files of [{ "tokenizer.json": "{" }, { "config.json": "{}" }]) {
    const plain = await load({ ...encoder, files, options: auto });
    expect(Object.keys(plain.signatures)).toEqual(["serving_default"]);
    await plain.close();
  }
});

describe("an embedding model", () => {
  test("takes texts and gives vectors, whatever their lengths", async () => {
    const model = await load(encoder);
    expect(model.signatures.serving_default).toEqual({
      inputs: [{ name: "text", dtype: "bytes", shape: [-1] }],
      outputs: [{ name: "embedding", dtype: "float32", shape: [-1, 3] }],
    });
    const outputs = await model.run({ text: ["bad good bad", "good"] });
    expect(numbers(outputs, "embedding")).toEqual([
      [0.6, 1.6, 1],
      [1, 0, 1.667],
    ]);
    await model.close();
  });

  test("pools and normalises as its modules say, and cuts vectors where the option says so", async () => {
    const files = {
      ...modules("Transformer", "Pooling", "Normalize"),
      "1_Pooling/config.json": JSON.stringify({ pooling_mode_cls_token: true }),
    };
    const model = await load({ ...encoder, files });
    expect(numbers(await model.run({ text: ["good"] }), "embedding")).toEqual([[0, 0, 1]]);
    await model.close();
    const cut = await load({ ...encoder, options: { dimensions: "2" } });
    expect(numbers(await cut.run({ text: ["good"] }), "embedding")).toEqual([[1, 0]]);
    expect(cut.signatures.serving_default?.outputs?.[0]?.shape).toEqual([-1, 2]);
    await cut.close();
    await expect(load({ ...encoder, options: { dimensions: "4" } })).rejects.toThrow("have 3 dimensions");
  });

  test("puts the default prompt of sentence-transformers in front, strips and lowers", async () => {
    const files = {
      ...toyTokenizer({ json: { normalizer: null } }),
      ...modules("Transformer", "Pooling"),
      "1_Pooling/config.json": JSON.stringify({ pooling_mode_mean_tokens: true }),
      "sentence_bert_config.json": JSON.stringify({ do_lower_case: true }),
      "config_sentence_transformers.json": JSON.stringify({ prompts: { q: "bad " }, default_prompt_name: "q" }),
    };
    const model = await load({ ...encoder, files });
    expect(numbers(await model.run({ text: ["GOOD"] }), "embedding")).toEqual([[0.75, 1, 1.25]]);
    await model.close();
    const odd = { ...files, "config_sentence_transformers.json": JSON.stringify({ default_prompt_name: "q" }) };
    await expect(load({ ...encoder, files: odd })).rejects.toThrow('has no prompt "q"');
  });

  test("gives many texts their own vectors, in their order", async () => {
    const model = await load(encoder);
    const given = Array.from({ length: 100 }, (_, index) => "good ".repeat(1 + ((index * 7) % 50)).trim());
    const outputs = await model.run({ text: given });
    const expected = given.map((text) => {
      const words = text.split(" ").length;
      return [Math.round((3000 * words) / (words + 2)) / 1000, 0, Math.round(5000 / (words + 2)) / 1000];
    });
    expect(numbers(outputs, "embedding")).toEqual(expected);
    expect(numbers(await model.run({ text: toTensors({ text: [""] }).text! }), "embedding")).toEqual([[0, 0, 2.5]]);
    await model.close();
  });

  test("takes numbers of tokens as before, by its second signature", async () => {
    const model = await load(encoder);
    const ids = toTensors({ input_ids: [[4]], attention_mask: [[1]] }, () => "int64");
    expect(model.signatures.tokens).toMatchObject({ byInputs: true });
    const outputs = await model.predict(ids, { signature: "tokens", signal: new CancelSource() });
    expect(numbers(outputs, "last_hidden_state")).toEqual([[[3, 0, 0]]]);
    await model.close();
  });

  test("keeps the model's other signatures, and is refused one that has the name tokens", async () => {
    const own = await load({ ...encoder, options: { texts: "false" } });
    const { serving_default: spec = {} } = own.signatures;
    const called: string[] = [];
    const predict = async (_: Tensors, { signature }: PredictCall) => {
      called.push(signature);
      return toTensors({});
    };
    const model = { signatures: { serving_default: spec, other: spec }, predict, close: async () => {} };
    const source = { path: own.path, choices: { wish: "true" as const }, log: createSilentLogger() };
    const texted = await withTexts(model, source);
    expect(Object.keys(texted.signatures)).toEqual([
      "serving_default",
      "other",
      "tokens",
      "tokenize",
      "detokenize",
      "embed",
    ]);
    const ids = toTensors({ input_ids: [[5]], attention_mask: [[1]] }, () => "int64");
    for (const signature of ["other", "tokens"])
      await texted.predict(ids, { signature, signal: new AbortController().signal });
    expect(called).toEqual(["other", "serving_default"]);
    const taken = { ...model, signatures: { serving_default: spec, tokens: spec } };
    await expect(withTexts(taken, source)).rejects.toThrow('has a signature "tokens" already');
    await own.close();
  });

  test("of a fixed size runs in that, with padding", async () => {
    const model = toyEncoder({ table, shape: [2, 4] });
    for (const options of [{}, { flexible_batch_size: "true" }]) {
      const fixed = await load({ ...encoder, model, options });
      const outputs = await fixed.run({ text: ["bad good bad", "good", "bad"] });
      const told = await fixed.run({ text: ["bad"], special_tokens: [true] }, "tokenize");
      expect(numbers(told, "max_tokens")).toEqual([4]);
      expect(numbers(outputs, "embedding")).toEqual([
        [0.75, 1, 1.25],
        [1, 0, 1.667],
        [0, 1.333, 1.667],
      ]);
      await fixed.close();
    }
  });

  test("cuts long texts as it is told, or refuses them", async () => {
    const cut = await load({ ...encoder, options: { max_tokens: "3", truncate: "left" } });
    expect(numbers(await cut.run({ text: ["bad good"] }), "embedding")).toEqual([[1, 0, 1.667]]);
    await cut.close();
    const refusing = await load({ ...encoder, options: { max_tokens: "3", truncate: "refuse" } });
    await expect(refusing.run({ text: ["bad good"] })).rejects.toThrow("Text 0 has more than 3 tokens");
    await expect(refusing.run({ text: ["bad good bad", "bad"] })).rejects.toThrow("Text 0 has more than 3 tokens");
    await refusing.close();
  });

  test("cuts a text as its client asks, though it refuses those that are too long for the model", async () => {
    const refusing = await load({ ...encoder, options: { max_tokens: "4", truncate: "refuse" } });
    const run = (most: bigint) =>
      refusing.run(
        { text: ["good bad good"], max_tokens: createTensor("int64", [1], BigInt64Array.of(most)) },
        "embed",
      );
    expect(numbers(await run(3n), "count")).toEqual([3]);
    for (const most of [0n, 4n, 9n]) await expect(run(most)).rejects.toThrow("more than 4 tokens");
    await refusing.close();
  });

  test("has an example that leaves a client's choices to the model", async () => {
    const model = await load(encoder);
    const { embed = {} } = model.signatures;
    expect(exampleValues(embed)).toEqual({ text: ["a"], max_tokens: [0] });
    await model.close();
  });

  test("refuses bytes that are no text", async () => {
    const model = await load(encoder);
    await expect(model.run({ text: [Buffer.from([0x66, 0xff])] })).rejects.toThrow('Text 0 of "text" is not UTF-8');
    await model.close();
  });

  test("runs texts of like lengths together, of one request or several, with the answers of single ones", async () => {
    const given = [..."abcdefgh"].map((_, index) => (index % 2 === 0 ? "good" : "bad ").repeat(1 + 40 * (index % 2)));
    const single = await load(encoder);
    const vectors = ({ embedding }: Tensors) => Array.from(embedding!.data as Float32Array);
    const expected: number[] = [];
    for (const text of given) expected.push(...vectors(await single.run({ text: [text] })));
    const together = vectors(await single.run({ text: given }));
    await single.close();
    const model = await load({ ...encoder, options: { max_batch_size: "16" } });
    const answers = await Promise.all(given.map((text) => model.run({ text: [text] })));
    const runs = (await model.statistics()).runs.map(({ rows, count }) => [rows, count]);
    await model.close();
    expect(runs).toEqual([[4, 2]]);
    // Of one text the same but for how the runtime adds up: 6 digits.
    for (const all of [answers.flatMap(vectors), together])
      for (const [at, value] of all.entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 6);
  });

  test.each<[string, Record<string, string>, number]>([
    ["by itself, and says no largest batch", {}, 0],
    ["as an option says", { max_batch_size: "8" }, 8],
  ])("batches texts of several requests %s", async (_, options, most) => {
    const model = await load({ ...encoder, options });
    const all = await Promise.all(["good", "bad", "bad good bad"].map((text) => model.run({ text: [text] })));
    expect(all.map((outputs) => numbers(outputs, "embedding"))).toEqual([
      [[1, 0, 1.667]],
      [[0, 1.333, 1.667]],
      [[0.6, 1.6, 1]],
    ]);
    expect((await model.statistics()).runs.map(({ rows, count }) => [rows, count])).toEqual([[3, 1]]);
    expect(model.maxBatchSize ?? 0).toBe(most);
    await model.close();
  });

  test("runs each request by itself where that is asked for, and where its rows have a fixed number", async () => {
    const fixed = { ...encoder, model: toyEncoder({ table, shape: [2, 8] }) };
    for (const given of [{ ...encoder, options: { max_batch_size: "0" } }, fixed]) {
      const model = await load(given);
      await Promise.all(["good", "bad"].map((text) => model.run({ text: [text] })));
      expect((await model.statistics()).runs.map(({ count }) => count)).toEqual([2]);
      await model.close();
    }
  });

  test("does not cut a request that is larger than the batches that it makes by itself", async () => {
    const model = await load(encoder);
    const { embedding } = await model.run({ text: Array<string>(100).fill("good") });
    expect(embedding?.shape).toEqual([100, 3]);
    expect((await model.statistics()).runs.map(({ rows, count }) => [rows, count])).toEqual([[100, 1]]);
    await model.close();
  });
});

describe("tokens of texts", () => {
  const idsOf = (rows: number, width: number) =>
    createTensors([
      ["tokens", createTensor("int64", [rows, width], new BigInt64Array(rows * width).fill(4n))],
      ["count", createTensor("int64", [rows], new BigInt64Array(rows).fill(BigInt(width)))],
    ]);
  const detokenize = (signal: AbortSignal | CancelSource = new CancelSource()) => ({ signature: "detokenize", signal });

  test("are told in rows as long as the longest, each with its count, and become texts again", async () => {
    const model = await load(encoder);
    const rows = await model.run({ text: ["good bad", "bad"], special_tokens: [true, false] }, "tokenize");
    expect(numbers(rows, "count")).toEqual([4, 1]);
    expect(numbers(rows, "tokens")).toEqual([
      [2, 4, 5, 3],
      [5, 0, 0, 0],
    ]);
    const { tokens, count } = rows;
    const back = await model.predict(
      createTensors([
        ["tokens", tokens!],
        ["count", count!],
      ]),
      detokenize(),
    );
    expect(texts(back, "text")).toEqual(["[CLS] good bad [SEP]", "bad"]);
    await model.close();
  });

  test("of several requests are told together", async () => {
    const model = await load({ ...encoder, options: { max_batch_size: "8" } });
    const all = ["good", "bad good bad"].map((text) => model.run({ text: [text], special_tokens: [true] }, "tokenize"));
    const counts = (await Promise.all(all)).map((rows) => numbers(rows, "count"));
    expect(counts).toEqual([[3], [5]]);
    await model.close();
  });

  test("are refused beyond what one answer may have, since short texts are filled up to the longest", async () => {
    const model = await load(encoder);
    const given = ["good ".repeat(20_000), ...Array<string>(1000).fill("good")];
    const special_tokens = given.map(() => true);
    await expect(model.run({ text: given, special_tokens }, "tokenize")).rejects.toThrow(
      "One of 1001 texts has 20002 tokens, as many as all rows would have; expected 16777216 in all rows",
    );
    await expect(model.predict(idsOf(1, 65_537), detokenize())).rejects.toThrow("Row 1 has 65537 tokens");
    await model.close();
  });

  test("of many short texts end with their client", async () => {
    const model = await load(encoder);
    const given = Array<string>(50_000).fill("good");
    const client = new AbortController();
    const inputs = toTensors({ text: given, special_tokens: given.map(() => true) });
    const told = model.predict(inputs, { signature: "tokenize", signal: client.signal });
    setImmediate(() => client.abort(invalidArgument("left")));
    await expect(told).rejects.toThrow("left");
    const back = model.predict(idsOf(50_000, 4), detokenize(client.signal));
    await expect(back).rejects.toThrow("left");
    await model.close();
  });
});

test("a cross-encoder scores pairs", async () => {
  const pairs = toyEncoder({ head: "mean", output: "logits", table: tableOf({ good: [5], bad: [-5] }) });
  const config = { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } };
  const model = await load({ model: pairs, config });
  const outputs = await model.run({ text: ["good", "good"], text_pair: ["good", "bad"] });
  expect(numbers(outputs, "score")).toEqual([0.881, 0.5]);
  await expect(model.run({ text: ["good", "bad"], text_pair: ["good"] })).rejects.toThrow(
    "There are 2 texts in text, and 1 in text_pair.",
  );
  await model.close();
  const sentence_transformers = { activation_fn: "torch.nn.modules.activation.Tanh" };
  const other = await load({ model: pairs, config: { ...config, sentence_transformers } });
  const scores = await other.run({ text: ["good", "good"], text_pair: ["good", "bad"] });
  expect(numbers(scores, "score")).toEqual([0.964, 0]);
  await other.close();
});

test("a classifier gives scores by class, and the best one's name", async () => {
  const table = tableOf({ good: [0, 6], bad: [6, 0] });
  const model = await load({
    model: toyEncoder({ head: "mean", output: "logits", table }),
    config: { architectures: ["BertForSequenceClassification"], id2label: { 0: "negative", 1: "positive" } },
  });
  const outputs = await model.run({ text: ["good", "bad"] });
  expect(texts(outputs, "label")).toEqual(["positive", "negative"]);
  expect(numbers(outputs, "scores")).toEqual([
    [0.119, 0.881],
    [0.881, 0.119],
  ]);
  expect(model.signatures.serving_default?.outputs?.[0]?.labels).toEqual(["negative", "positive"]);
  await model.close();
});

test("a classifier of words gives the entities of a text with their places", async () => {
  const table = tableOf({ good: [0, 9, 0], bad: [0, 0, 9], ".": [9, 0, 0] });
  const model = await load({
    model: toyEncoder({ output: "logits", table }),
    config: { architectures: ["BertForTokenClassification"], id2label: { 0: "O", 1: "B-PER", 2: "I-PER" } },
  });
  const [json = ""] = texts(await model.run({ text: ["Good bad. good"] }), "entities") as string[];
  expect(JSON.parse(json)).toMatchObject([
    { entity_group: "PER", word: "Good bad", start: 0, end: 8 },
    { entity_group: "PER", word: "good", start: 10, end: 14 },
  ]);
  await model.close();
});
