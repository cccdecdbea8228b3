import { describe, expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";

const POOLING = {
  "modules.json": JSON.stringify(
    ["Transformer", "Pooling", "Normalize"].map((type) => ({
      type: `sentence_transformers.models.${type}`,
      path: "p",
    })),
  ),
  "p/config.json": JSON.stringify({ pooling_mode_mean_tokens: true }),
};

function modelPath(model: Uint8Array, config: object, files: Record<string, string> = {}): string {
  const own = { ...toyTokenizer(), ...files, "config.json": JSON.stringify(config), "model.onnx": model };
  return `${tempFolder(own)}/model.onnx`;
}

/** Embedding models that say of themselves that they are Matryoshka's, or not, and a cross-encoder. */
const serve = shareServer(() => {
  const options = { texts: "true" };
  const encoder = toyEncoder({ table: tableOf({ good: [3, 4, 12], bad: [0, 8, 0] }) });
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 3, max_position_embeddings: 8 };
  const dolls = modelPath(encoder, { ...config, matryoshka_dimensions: [2] }, POOLING);
  const plain = modelPath(encoder, config, POOLING);
  const scoring = toyEncoder({ head: "mean", output: "logits", table: tableOf({ good: [5], bad: [-5] }) });
  const cross = { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } };
  return {
    models: {
      dolls: { path: dolls, options: { ...options, max_batch_size: "2" } },
      plain: { path: plain, options },
      chosen: { path: plain, options: { ...options, dimensions: "2" } },
      pairs: { path: modelPath(scoring, cross), options },
    },
  };
});

async function post(path: string, body: object) {
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text) };
}

const vectors = (body: { readonly data: readonly { readonly embedding: readonly number[] }[] }) =>
  body.data.map(({ embedding }) => embedding.map((each) => Math.round(each * 1000) / 1000));

describe("a model of texts without hooks", () => {
  it("tells the tokens that it took, special ones included", async () => {
    for (const model of ["plain", "dolls"]) {
      const { body } = await post("/v1/embeddings", { model, input: ["good", "good bad", "bad"] });
      expect([model, body.usage]).toEqual([model, { prompt_tokens: 10, total_tokens: 10 }]);
    }
    const ollama = await post("/api/embed", { model: "plain", input: ["good"] });
    expect(ollama.body.prompt_eval_count).toBe(3);
    const ranked = await post("/v1/rerank", { model: "pairs", query: "good", documents: ["bad", "good good"] });
    expect(ranked.body.usage).toEqual({ prompt_tokens: 11, total_tokens: 11 });
    const scored = await post("/v1/score", { model: "pairs", text_1: "good", text_2: ["bad"] });
    expect(scored.body.usage).toEqual({ prompt_tokens: 5, total_tokens: 5 });
  });

  it("gives the first numbers of its vectors, with a length of 1 again, where it says that it can", async () => {
    const input = ["good", "bad", "good"];
    expect(vectors((await post("/v1/embeddings", { model: "dolls", input })).body)[0]).toEqual([0.231, 0.308, 0.923]);
    const { body } = await post("/v1/embeddings", { model: "dolls", input, dimensions: 2 });
    expect(vectors(body)).toEqual([
      [0.6, 0.8],
      [0, 1],
      [0.6, 0.8],
    ]);
    const coded = await post("/v1/embeddings", { model: "dolls", input, dimensions: 1, encoding_format: "base64" });
    expect(Buffer.from(coded.body.data[0].embedding, "base64")).toEqual(Buffer.from(Float32Array.of(1).buffer));
    const chosen = { model: "chosen", input, dimensions: 1 };
    expect(vectors((await post("/v1/embeddings", chosen)).body)).toEqual([[1], [0], [1]]);
    expect((await post("/api/embed", { model: "dolls", input: "bad", dimensions: 2 })).body.embeddings).toEqual([
      [0, 1],
    ]);
  });

  it.each([
    ["plain", 2, "3"],
    ["dolls", 4, "3"],
    ["chosen", 3, "2"],
  ])("refuses other dimensions: %s has not %i", async (model, dimensions, own) => {
    const { status, body } = await post("/v1/embeddings", { model, input: "good", dimensions });
    const message = `dimensions is ${dimensions}; expected ${own}, as the vectors of ${model} have, or none.`;
    expect([status, body.error]).toMatchObject([400, { param: "dimensions", message }]);
  });

  it("cuts texts as the client says, of each request its own", async () => {
    const ask = async (model: string, most: number | undefined) => {
      const { body } = await post("/v1/embeddings", { model, input: ["good bad bad"], truncate_prompt_tokens: most });
      return [vectors(body)[0], body.usage.prompt_tokens];
    };
    const whole = [[0.145, 0.964, 0.579].map((each) => expect.closeTo(each, 0)), 5];
    const answers = await Promise.all([ask("dolls", 3), ask("dolls", undefined), ask("dolls", -1), ask("plain", 3)]);
    const cut = [[0.231, 0.308, 0.923], 3];
    expect(answers).toEqual([cut, whole, whole, cut]);
    const ranked = { model: "pairs", query: "good", documents: ["bad bad"], truncate_prompt_tokens: 5 };
    expect((await post("/v1/rerank", ranked)).body.usage.prompt_tokens).toBe(5);
  });

  it("cuts each document of a rerank as the client says, and not its query", async () => {
    const ask = async (more: object) => {
      const documents = ["good bad bad", "bad good good good", "bad"];
      const { body } = await post("/v1/rerank", { model: "pairs", query: "good good", documents, ...more });
      const scores: Record<number, number> = {};
      for (const { index, relevance_score: score } of body.results) scores[index] = score;
      return [body.usage.prompt_tokens, Object.values(scores)] as const;
    };
    const [[tokens, whole], [fewer, cut], [least, both]] = await Promise.all([
      ask({}),
      ask({ max_tokens_per_doc: 1 }),
      ask({ max_tokens_per_doc: 1, truncate_prompt_tokens: 5 }),
    ]);
    // Three special ones and the query are around each.
    expect([tokens, fewer, least]).toEqual([3 * 5 + 8, 3 * 5 + 3, 3 * 5]);
    expect(cut[1]).toBe(cut[2]);
    expect(whole[1]).not.toBe(whole[2]);
    expect(both).toHaveLength(3);
    for (const most of [0, 4]) expect(await ask({ max_tokens_per_doc: most })).toEqual([tokens, whole]);
  });

  it("refuses to cut documents to what is no number", async () => {
    const asked = { query: "good", documents: ["good"] };
    for (const most of [-1, 1.5, "3", true]) {
      const { status, body } = await post("/v1/rerank", { model: "pairs", ...asked, max_tokens_per_doc: most });
      const message = expect.stringContaining("expected a whole number from 0 on");
      expect([status, body.error]).toMatchObject([400, { param: "max_tokens_per_doc", message }]);
    }
  });

  it("refuses to cut them for Ollama's clients that say so", async () => {
    const input = ["good", "good ".repeat(9)];
    expect((await post("/api/embed", { model: "plain", input, truncate: true })).body.prompt_eval_count).toBe(11);
    const { status, body } = await post("/api/embed", { model: "plain", input, truncate: false });
    expect([status, body.error]).toEqual([400, "Text 1 has more tokens than the model takes; send it in parts."]);
  });

  it("refuses tokens that are no number", async () => {
    for (const most of [0, 1.5, "3"]) {
      const { status, body } = await post("/v1/embeddings", {
        model: "plain",
        input: "a",
        truncate_prompt_tokens: most,
      });
      expect([status, body.error.param]).toEqual([400, "truncate_prompt_tokens"]);
    }
  });
});
