import { describe, expect, it, vi } from "vitest";
import { LocalLease } from "../../../src/serving/local-lease.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";
import { textHooks } from "./text-hooks.ts";

/** A cross-encoder whose logit is the mean of its words' numbers, with its tokenizer; the path of the model. */
function crossEncoder(more: object = {}): string {
  const table = tableOf({ good: [5], bad: [-5], great: [20], awful: [500] });
  const model = toyEncoder({ head: "mean", output: "logits", table });
  const config = { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" }, ...more };
  const files = { ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model };
  return `${tempFolder(files)}/model.onnx`;
}

const IDENTITY = "torch.nn.modules.linear.Identity";

const serve = shareServer(() => {
  const path = crossEncoder();
  return {
    models: {
      pairs: { path, options: { texts: "true" } },
      logits: {
        path: crossEncoder({ sentence_transformers: { activation_fn: IDENTITY } }),
        options: { texts: "true" },
      },
      short: { path, options: { texts: "true", max_tokens: "16" } },
      few: { path, options: { texts: "true", max_batch_size: "2" } },
      talk: { driver: "null", hooks: textHooks() },
      plain: { driver: "null" },
    },
  };
});

async function post(path: string, body: object) {
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const DOCUMENTS = ["bad", "great great great", "good"];
const indices = (results: readonly { readonly index: number }[]) => results.map(({ index }) => index);

describe("rerank by a model that scores pairs", () => {
  it.each(["/v1/rerank", "/v2/rerank", "/rerank"])("sorts at %s", async (path) => {
    const { body } = await post(path, { model: "pairs", query: "good", documents: DOCUMENTS, return_documents: true });
    expect(indices(body.results)).toEqual([1, 2, 0]);
    expect(body.results[0]).toMatchObject({ document: { text: "great great great" } });
    expect(body.results[0].relevance_score).toBeGreaterThan(body.results[1].relevance_score);
  });

  it("gives numbers from 0 to 1, of a model whose own may be any, and its own where they are asked for", async () => {
    const asked = { model: "logits", query: "good", documents: DOCUMENTS };
    const scoresOf = async (path: string, body: object, name: string) => {
      const { results, data } = (await post(path, body)).body;
      return (results ?? data).map((each: Record<string, number>) => Number(each[name]?.toFixed(3)));
    };
    // Means of the words' numbers, among those of other tokens and of padding, which are 0.
    const logits = [65 / 7, 10 / 7, 0];
    const own = logits.map((each) => Number(each.toFixed(3)));
    const relevance = logits.map((each) => Number((1 / (1 + Math.exp(-each))).toFixed(3)));
    expect(await scoresOf("/v1/rerank", asked, "relevance_score")).toEqual(relevance);
    expect(await scoresOf("/v1/rerank", { ...asked, raw_scores: null }, "relevance_score")).toEqual(relevance);
    expect(await scoresOf("/v1/rerank", { ...asked, raw_scores: true }, "relevance_score")).toEqual(own);
    const { query: text_1, documents } = asked;
    const text_2 = [1, 2, 0].map((index) => documents[index]);
    expect(await scoresOf("/v1/score", { model: "logits", text_1, text_2 }, "score")).toEqual(own);
    const wrong = await post("/v1/rerank", { ...asked, raw_scores: 1 });
    expect([wrong.status, wrong.body.error.param]).toEqual([400, "raw_scores"]);
    expect((await post("/v1/rerank", { ...asked, model: "talk", raw_scores: 1 })).status).toBe(200);
  });

  it("sorts by the model's own numbers where they are so large that those from 0 to 1 are equal", async () => {
    const documents = ["bad", "awful", "awful awful"];
    const { body } = await post("/v1/rerank", { model: "logits", query: "good", documents, top_n: 2 });
    expect(body.results).toEqual([2, 1].map((index) => ({ index, relevance_score: 1 })));
  });

  it("gives the same order where a run takes fewer pairs than there are", async () => {
    const { body } = await post("/v1/rerank", { model: "few", query: "good", documents: DOCUMENTS, top_n: 2 });
    expect(indices(body.results)).toEqual([1, 2]);
    const all = await post("/v1/rerank", { model: "few", query: "good", documents: DOCUMENTS, top_n: 0 });
    expect(indices(all.body.results)).toEqual([1, 2, 0]);
  });

  it("gives long documents in several runs, of which each has its own scores", async () => {
    const infer = vi.spyOn(LocalLease.prototype, "infer");
    const documents = Array.from({ length: 5 }, (_, at) => (at % 2 === 0 ? "good " : "bad ").repeat(100_000));
    const { body } = await post("/v1/rerank", { model: "short", query: "good", documents });
    expect(indices(body.results)).toEqual([0, 2, 4, 1, 3]);
    expect(infer).toHaveBeenCalledTimes(3);
    infer.mockRestore();
  });
});

describe("score", () => {
  it.each(["/v1/score", "/v3/score", "/openai/v1/score", "/score"])("keeps the order at %s", async (path) => {
    const { body } = await post(path, { model: "pairs", text_1: "good", text_2: ["good", "bad"] });
    expect(body).toMatchObject({ object: "list", model: "pairs", usage: { total_tokens: 10 } });
    expect(body.data).toMatchObject([
      { index: 0, object: "score", score: expect.closeTo(0.881, 3) },
      { index: 1, object: "score", score: 0.5 },
    ]);
  });

  it("takes as many texts on either side, in both forms", async () => {
    const { body } = await post("/score", { model: "pairs", queries: ["good", "bad"], documents: ["bad", "bad"] });
    expect(body.data.map(({ score }: { score: number }) => Number(score.toFixed(3)))).toEqual([0.5, 0.119]);
  });

  it("is answered by the function rerank of hooks for one text", async () => {
    const { body } = await post("/v1/score", { model: "talk", text_1: "a", text_2: ["a b", "c"] });
    expect(body.data.map(({ score }: { score: number }) => score)).toEqual([0.75, 0.25]);
    const pairs = await post("/v1/score", { model: "talk", text_1: ["a", "b"], text_2: ["a", "b"] });
    expect([pairs.status, pairs.body.error.param]).toEqual([400, "text_1"]);
    const newer = await post("/v1/score", { model: "talk", queries: ["a", "b"], documents: ["a", "b"] });
    expect(newer.body.error).toMatchObject({ param: "queries", message: expect.stringContaining("queries") });
  });

  it("refuses a query that would be too long once each document has it", async () => {
    const long = { model: "pairs", text_1: "good ".repeat(20_000), text_2: Array.from({ length: 512 }, () => "bad") };
    const { status, body } = await post("/score", long);
    expect([status, body.error]).toMatchObject([
      400,
      { param: "text_1", message: expect.stringContaining("33554432") },
    ]);
    const { query, documents } = { query: long.text_1, documents: long.text_2 };
    expect((await post("/rerank", { model: "pairs", query, documents })).body.error.param).toBe("query");
  });

  it.each([
    ["lists of different lengths", { model: "pairs", text_1: ["a", "b"], text_2: ["a", "b", "c"] }, 400, "text_1"],
    ["a missing side", { model: "pairs", text_1: "a" }, 400, "text_2"],
    ["no sides", { model: "pairs" }, 400, "text_1"],
    ["token ids", { model: "pairs", text_1: "a", text_2: [1, 2] }, 400, "text_2"],
    ["a model that has neither", { model: "plain", text_1: "a", text_2: "b" }, 404, "model"],
  ])("refuses %s", async (_, body, status, param) => {
    const answer = await post("/score", body);
    expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    if (status === 404) expect(answer.body.error.message).toContain("or one that scores pairs of texts");
  });
});

describe("tokens", () => {
  it.each([
    ["/tokenize", "prompt"],
    ["/v1/tokenize", "text"],
    ["/v3/tokenize", "content"],
    ["/openai/v1/tokenize", "prompt"],
  ])("of a text are told at %s, for its member %s", async (path, member) => {
    const answer = await post(path, { model: "pairs", [member]: "good bad" });
    const expected = { count: 4, max_model_len: null, tokens: [2, 4, 5, 3], token_strs: null };
    expect([answer.status, answer.body]).toEqual([200, expected]);
    const alone = await post(path, { model: "few", [member]: "good bad", add_special_tokens: false });
    expect(alone.body.tokens).toEqual([4, 5]);
  });

  it("of a long text are all told, and become the text again", async () => {
    const { body } = await post("/tokenize", { model: "pairs", prompt: "good ".repeat(20_000) });
    expect([body.count, body.tokens.length, body.tokens.at(-2)]).toEqual([20_002, 20_002, 4]);
    for (const path of ["/detokenize", "/v1/detokenize"])
      expect((await post(path, { model: "pairs", tokens: [2, 4, 5, 3] })).body).toEqual({
        ...{ prompt: "[CLS] good bad [SEP]", content: "[CLS] good bad [SEP]" },
      });
    expect((await post("/detokenize", { model: "pairs", tokens: [] })).body).toEqual({ prompt: "", content: "" });
  });

  it("are not made a text beyond what is one piece of work", async () => {
    const tokens = Array(65_537).fill(4);
    const { status, body } = await post("/detokenize", { model: "pairs", tokens });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("a list of 65537; expected 65536")]);
  });

  it.each([
    ["/tokenize", { model: "pairs" }, 400, "prompt"],
    ["/tokenize", { model: "pairs", prompt: ["a"] }, 400, "prompt"],
    ["/tokenize", { model: "pairs", messages: [] }, 400, "messages"],
    ["/tokenize", { model: "pairs", prompt: "a", return_token_strs: true }, 400, "return_token_strs"],
    ["/tokenize", { model: "plain", prompt: "a" }, 404, "model"],
    ["/detokenize", { model: "pairs", tokens: "good" }, 400, "tokens"],
    ["/detokenize", { model: "pairs", tokens: [4, 1.5] }, 400, "tokens[1]"],
    ["/detokenize", { model: "talk", tokens: [4] }, 404, "model"],
  ])("%s refuses %j", async (path, body, status, param) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    if (status === 404) expect(answer.body.error.message).toContain("one that takes texts by its tokenizer.json");
  });
});
