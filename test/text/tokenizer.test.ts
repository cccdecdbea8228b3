import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { loadTokenizer, type Tokenizer } from "../../src/text/text.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { toyTokenizer } from "../helpers/text-model.ts";

/** The answers of Python's tokenizers to the lines: test/fixtures/make/text-tokenizers.py. */
interface Answers {
  readonly lines: readonly { readonly ids: number[]; readonly offsets: number[][]; readonly decoded: string }[];
  readonly pairs: readonly { readonly ids: number[]; readonly types: number[]; readonly cut: number[] }[];
}

const FOLDER = "test/fixtures/text";
const LINES: readonly string[] = JSON.parse(readFileSync(`${FOLDER}/lines.json`, "utf8"));
const KINDS = ["bert", "words", "roberta", "llama3", "llama2", "unigram"];
const answersOf = (kind: string): Answers => JSON.parse(readFileSync(`${FOLDER}/${kind}/answers.json`, "utf8"));
const numbers = ({ data }: Tensor<"int64">) => Array.from(data, Number);

test("a text in a hook may be as long as one of the model when it is served: sentence-transformers' limit goes first", async () => {
  const files = {
    ...toyTokenizer({ config: { model_max_length: 512 } }),
    "config.json": JSON.stringify({ max_position_embeddings: 300 }),
  };
  const most = async (more: Record<string, string>) =>
    (await loadTokenizer(tempFolder({ ...files, ...more }))).maxTokens;
  expect(await most({})).toBe(300);
  expect(await most({ "sentence_bert_config.json": '{ "max_seq_length": 256 }' })).toBe(256);
  expect(await most({ "sentence_xlm-roberta_config.json": '{ "max_seq_length": 128 }' })).toBe(128);
  expect(await most({ "sentence_bert_config.json": '{ "max_seq_length": null }' })).toBe(300);
});

test("pairs of one text have the tokens that each has by itself, also behind that text alone", async () => {
  const tokenizer = await loadTokenizer(tempFolder(toyTokenizer()));
  const query = "good bad ".repeat(20);
  const all = [query, [query, "good"], [query, "bad great"], ["great", query], [query, ""]] as const;
  const options = { maxTokens: 24, padding: 24 };
  const together = numbers((await tokenizer.encode(all, options)).inputIds);
  const alone = await Promise.all(all.map(async (text) => numbers((await tokenizer.encode([text], options)).inputIds)));
  expect(together).toEqual(alone.flat());
});

describe.each(KINDS)("a tokenizer as %s's has the answers of the original", (kind) => {
  test("for the tokens of each line", async () => {
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    for (const [index, { ids }] of answersOf(kind).lines.entries()) {
      const { inputIds, counts } = await tokenizer.encode([LINES[index]!]);
      expect(numbers(inputIds), LINES[index]).toEqual(ids);
      expect(counts).toEqual([ids.length]);
    }
  });

  test("for the ranges of the tokens, which are of UTF-16 units here", async () => {
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    let equal = 0;
    for (const [index, line] of LINES.entries()) {
      const places = codePoints(line);
      const { offsets: [ranges = []] = [] } = await tokenizer.encode([line], { offsets: true });
      const found = ranges.map((range) => range.map((at) => places[at]));
      if (JSON.stringify(found) === JSON.stringify(answersOf(kind).lines[index]?.offsets)) equal++;
    }
    // The others are those of a normalizer that joins characters: docs/text.md.
    expect(equal / LINES.length).toBeGreaterThan(kind === "unigram" ? 0.75 : 0.98);
  });

  test("for the text of tokens", async () => {
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    const { lines } = answersOf(kind);
    expect(lines.map(({ ids }) => tokenizer.decode(ids))).toEqual(lines.map(({ decoded }) => decoded));
  });

  test("for pairs, whole and cut", async () => {
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    for (const [index, { ids, types, cut }] of answersOf(kind).pairs.entries()) {
      const pair = [LINES[2 * index]!, LINES[2 * index + 1]!] as const;
      const whole = await tokenizer.encode([pair]);
      expect([numbers(whole.inputIds), numbers(whole.tokenTypeIds)]).toEqual([ids, types]);
      expect(numbers((await tokenizer.encode([pair], { maxTokens: 12 })).inputIds)).toEqual(cut);
    }
  });
});

/** For each UTF-16 unit of a text the number of code points before it. */
function codePoints(text: string): number[] {
  const places: number[] = [];
  let count = 0;
  for (const point of text) {
    for (let unit = 0; unit < point.length; unit++) places.push(count);
    count++;
  }
  return [...places, count];
}

const toy = (parts?: Parameters<typeof toyTokenizer>[0]): Promise<Tokenizer> =>
  loadTokenizer(tempFolder(toyTokenizer(parts)));

test("texts become rows that are padded to the longest, or to a length", async () => {
  const tokenizer = await toy();
  const { inputIds, attentionMask, counts } = await tokenizer.encode(["good", "bad good bad"]);
  expect(inputIds.shape).toEqual([2, 5]);
  expect(numbers(inputIds)).toEqual([2, 4, 3, 0, 0, 2, 5, 4, 5, 3]);
  expect(numbers(attentionMask)).toEqual([1, 1, 1, 0, 0, 1, 1, 1, 1, 1]);
  expect(counts).toEqual([3, 5]);
  expect((await tokenizer.encode(["good"], { padding: 8 })).inputIds.shape).toEqual([1, 8]);
  expect((await tokenizer.encode([])).inputIds.shape).toEqual([0, 0]);
  const left = await toy({ config: { padding_side: "left", pad_token: "[PAD]" } });
  const { inputIds: ids, offsets } = await left.encode(["good", "bad good"], { offsets: true });
  expect(numbers(ids)).toEqual([0, 2, 4, 3, 2, 5, 4, 3]);
  const none = [0, 0];
  expect(offsets).toEqual([
    [none, none, [0, 4], none],
    [none, [0, 3], [4, 8], none],
  ]);
});

test("tokenizer_config.json says more about the case of letters than tokenizer.json, and less where it is silent", async () => {
  const idsOf = async (config: object, text: string) =>
    numbers((await (await toy({ config })).encode([text], { specialTokens: false })).inputIds);
  expect(await idsOf({}, "GOOD")).toEqual([4]);
  expect(await idsOf({ do_lower_case: false, tokenizer_class: "BertTokenizer" }, "GOOD good")).toEqual([1, 4]);
  expect(await idsOf({ do_lower_case: false, tokenizer_class: "PreTrainedTokenizerFast" }, "GOOD")).toEqual([4]);
  expect(await idsOf({ strip_accents: false }, "göod")).toEqual([1]);
  expect(await idsOf({ strip_accents: null, do_lower_case: null }, "göod")).toEqual([4]);
  const files = {
    ...toyTokenizer({
      json: { padding: { direction: "Left", pad_token: "[UNK]" }, truncation: { direction: "Left", max_length: 4 } },
    }),
    "tokenizer_config.json": JSON.stringify({ model_max_length: 4 }),
  };
  const silent = await loadTokenizer(tempFolder(files));
  expect(numbers((await silent.encode(["good", "bad good"])).inputIds)).toEqual([1, 2, 4, 3, 2, 5, 4, 3]);
  expect(numbers((await silent.encode(["good bad bad"])).inputIds)).toEqual([2, 5, 5, 3]);
  const config = JSON.stringify({ padding_side: "right", pad_token: "[PAD]" });
  const said = await loadTokenizer(tempFolder({ ...files, "tokenizer_config.json": config }));
  expect(numbers((await said.encode(["good", "bad good"])).inputIds)).toEqual([2, 4, 3, 0, 2, 5, 4, 3]);
});

test("long texts are cut at the end or the beginning, or refused", async () => {
  const tokenizer = await toy({ config: { model_max_length: 4 } });
  const cut = async (truncate?: "left" | "right") => {
    const { inputIds, wasCut } = await tokenizer.encode(["good bad bad"], { ...(truncate && { truncate }) });
    return [numbers(inputIds), wasCut];
  };
  expect(await cut()).toEqual([[2, 4, 5, 3], [true]]);
  expect(await cut("left")).toEqual([[2, 5, 5, 3], [true]]);
  await expect(tokenizer.encode(["good", "good bad bad"], { truncate: "refuse" })).rejects.toThrow(
    "Text 1 has more than 4 tokens, which the model takes at most; send it in parts, or have it cut.",
  );
  expect((await tokenizer.encode(["good bad"], { truncate: "refuse" })).counts).toEqual([4]);
});

test("words that are kept for later do not keep their texts in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const tokenizer = await toy();
  const measured = async (count: number) => {
    for (let index = 0; index < count; index++)
      await tokenizer.encode([`${"x".repeat(16_000)} averylongword${index}`], { maxTokens: 8 });
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await measured(10);
  expect((await measured(1000)) - before).toBeLessThan(6_000_000);
});

test("many short texts leave turns of the event loop between them", async () => {
  const tokenizer = await toy();
  const ended = new Error("the request is over");
  const control = new AbortController();
  setImmediate(() => control.abort(ended));
  const texts = new Array<string>(1_000_000).fill("good bad");
  await expect(tokenizer.encode(texts, { signal: control.signal })).rejects.toBe(ended);
});

test("of a long text without its beginning the end is kept", async () => {
  const tokenizer = await toy();
  const long = `${"bad ".repeat(200_000)}good`;
  const { inputIds, wasCut } = await tokenizer.encode([long], { maxTokens: 4, truncate: "left" });
  expect([numbers(inputIds), wasCut]).toEqual([[2, 5, 4, 3], [true]]);
});

test("tokens are counted, and made a text again", async () => {
  const tokenizer = await toy();
  expect(await tokenizer.count("goodly bad")).toBe(5);
  expect(await tokenizer.count("goodly bad", { specialTokens: false })).toBe(3);
  expect(tokenizer.decode([2, 4, 6, 5, 3])).toBe("goodly bad");
  expect(tokenizer.decode([2, 4, 3], { specialTokens: true })).toBe("[CLS] good [SEP]");
  expect(tokenizer.decode([])).toBe("");
  expect(() => tokenizer.decode([-1])).toThrow("numbers that are none");
});

test("what is no well-formed text is refused with its place; NUL and thousands of marks are text", async () => {
  const tokenizer = await toy();
  await expect(tokenizer.encode(["good", "bad \ud800"])).rejects.toThrow("Text 1 has half of a surrogate pair at 4");
  await expect(tokenizer.encode([7 as never])).rejects.toThrow("Text 0 is no text");
  await expect(tokenizer.encode([["a", "b", "c"] as never])).rejects.toThrow("Text 0 is no text");
  expect(numbers((await tokenizer.encode(["go\0od"])).inputIds)).toEqual([2, 4, 3]);
  const marks = Array.from({ length: 10_000 }, (_, index) => (index % 2 ? "\u0316" : "\u0301")).join("");
  expect(numbers((await tokenizer.encode([`g${marks}ood`])).inputIds)).toEqual([2, 4, 3]);
});

test("looks through so much of all texts together that becomes no tokens", async () => {
  const tokenizer = await toy();
  const half = "\u0301".repeat(2.2 * 1024 * 1024);
  const { counts } = await tokenizer.encode([`${half} good`, "good ".repeat(100_000)], { maxTokens: 8 });
  expect(counts).toEqual([3, 8]);
  const message =
    "Up to text 1 there are more than 4194304 characters that become no tokens, as spaces do; expected words.";
  await expect(tokenizer.encode([half, half])).rejects.toThrow(message);
});

test("a long text leaves the event loop its turns, and can be given up", async () => {
  const tokenizer = await toy();
  const text = "good bad ".repeat(60_000);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  expect(await tokenizer.count(text)).toBe(120_002);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
  const ended = new AbortController();
  const counted = tokenizer.count(text.repeat(4), { signal: ended.signal });
  setImmediate(() => ended.abort());
  await expect(counted).rejects.toThrow("abort");
});

describe("files that are no tokenizer are refused with what is wrong", () => {
  const refused = (files: Record<string, string>) => expect(loadTokenizer(tempFolder(files))).rejects;
  const json = (parts: object) => ({
    "tokenizer.json": JSON.stringify({ model: { type: "WordPiece", vocab: { a: 0 }, unk_token: "a" }, ...parts }),
  });

  test.each<[string, Record<string, string>, string]>([
    ["none", {}, "tokenizer.json does not exist"],
    ["cut short", { "tokenizer.json": '{"model": {"vo' }, "is not JSON (it may be cut short)"],
    ["a list", { "tokenizer.json": "[]" }, "has an array; expected an object"],
    ["no model", { "tokenizer.json": "{}" }, "has undefined as its model"],
    ["no vocabulary", json({ model: { type: "BPE", vocab: { a: "b" } } }), "a model without a usable vocabulary"],
    ["false merges", json({ model: { type: "BPE", vocab: { a: 0 }, merges: [1] } }), "merges that are none"],
    ["an unknown model", json({ model: { type: "Toy", vocab: { a: 0 } } }), 'a model of type "Toy"'],
    ["an unknown normalizer", json({ normalizer: { type: "constructor" } }), 'a normalizer of type "constructor"'],
    ["an unknown pre-tokenizer", json({ pre_tokenizer: { type: "Toy" } }), 'a pre_tokenizer of type "Toy"'],
    ["an unknown post-processor", json({ post_processor: { type: "Toy" } }), 'a post_processor of type "Toy"'],
    [
      "a faulty pattern",
      json({ pre_tokenizer: { type: "Split", pattern: { Regex: "(" }, behavior: "Isolated" } }),
      "a pattern that cannot be used: (",
    ],
    [
      "a damaged charsmap",
      json({ normalizer: { type: "Precompiled", precompiled_charsmap: "AAAA" } }),
      "a precompiled_charsmap that is damaged",
    ],
    ["false added tokens", json({ added_tokens: [{ id: -1, content: "x" }] }), "added_tokens that are none"],
  ])("%s", async (_, files, message) => {
    await refused(files).toThrow(message);
  });
});

test.each(["bert", "llama2", "llama3", "roberta", "unigram", "words"])(
  "numbers that %s does not have are decoded to a text, or refused as such",
  async (kind) => {
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    for (const ids of [[99_999_999], [5, 99_999_999], [99_999_999, 5]]) {
      const decode = () => tokenizer.decode(ids, { specialTokens: true });
      const said = await Promise.resolve()
        .then(decode)
        .catch((reason: unknown) => reason);
      expect(typeof said === "string" || said instanceof ServingError).toBe(true);
    }
  },
);

test("a BPE model without merges is refused", async () => {
  const json = { model: { type: "BPE", vocab: { a: 0 } } };
  await expect(toy({ json })).rejects.toThrow("a BPE model without merges");
});
