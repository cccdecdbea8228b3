import assert from "node:assert/strict";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import { failure, ORIGIN, runCalls } from "./calls.mjs";

const options = { environment: ORIGIN, baseUrl: ORIGIN, token: "any" };
const asked = { model: "rank", query: "good", documents: ["bad", "good", "great"], topN: 2 };
const order = ({ results }) => results.map(({ index }) => index);

await runCalls({
  "rerank of version 2": async () => {
    const answer = await new CohereClientV2(options).rerank(asked);
    assert.deepEqual(order(answer), [1, 2]);
    assert.ok(answer.results.every(({ relevanceScore }) => relevanceScore > 0.5 && relevanceScore < 1));
  },
  "documents that are cut": async () => {
    const client = new CohereClientV2(options);
    const cut = { model: "rank", query: "good", documents: ["bad great great", "good bad bad"] };
    assert.deepEqual(order(await client.rerank(cut)), [0, 1]);
    assert.deepEqual(order(await client.rerank({ ...cut, maxTokensPerDoc: 1 })), [1, 0]);
  },
  "rerank of version 1, with documents": async () => {
    const client = new CohereClient(options);
    const answer = await client.rerank({
      ...asked,
      documents: [{ text: "bad" }, { text: "good" }],
      returnDocuments: true,
    });
    assert.deepEqual(order(answer), [1, 0]);
    assert.equal(answer.results[0].document.text, "good");
  },
  errors: async () => {
    const missing = await failure(new CohereClientV2(options).rerank({ ...asked, model: "rang" }, { maxRetries: 0 }));
    assert.equal(missing.statusCode, 404);
  },
});
