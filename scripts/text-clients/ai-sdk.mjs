import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as ai from "ai";
import { CITY, failure, GOOD, ORIGIN, PNG, runCalls } from "./calls.mjs";

const provider = createOpenAICompatible({
  name: "kserving",
  baseURL: `${ORIGIN}/v1`,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const model = provider("talk");
const weather = ai.tool({ inputSchema: ai.jsonSchema(CITY), execute: async ({ city }) => `dry in ${city}` });
const tools = { weather };
const options = { model, tools, prompt: "weather?", stopWhen: ai.stepCountIs(3), maxRetries: 0 };

await runCalls({
  generateText: async () => {
    const { text, usage, finishReason } = await ai.generateText({ model, prompt: "two words" });
    assert.deepEqual([text, finishReason, usage.outputTokens], ["two words ", "stop", 2]);
  },
  streamText: async () => {
    const answer = ai.streamText({ model, prompt: "two words" });
    let text = "";
    for await (const part of answer.textStream) text += part;
    assert.deepEqual([text, (await answer.usage).totalTokens], ["two words ", 3]);
  },
  "generateText: tools and their results": async () => {
    assert.equal((await ai.generateText(options)).text, "It is dry in Riga.");
  },
  "streamText: tools and their results": async () => {
    const answer = ai.streamText(options);
    await answer.consumeStream();
    assert.equal(await answer.text, "It is dry in Riga.");
  },
  "streamText: thoughts": async () => {
    const answer = ai.streamText({ model, prompt: "think" });
    await answer.consumeStream();
    assert.deepEqual([await answer.reasoningText, await answer.text], ["hm", "so"]);
  },
  "an answer by a schema": async () => {
    const output = ai.Output.object({ schema: ai.jsonSchema(CITY) });
    assert.deepEqual((await ai.generateText({ model, prompt: "where", output })).output, { city: "Riga" });
  },
  "a picture": async () => {
    const content = [{ type: "file", data: Buffer.from(PNG, "base64"), mediaType: "image/png" }];
    const { text } = await ai.generateText({ model, messages: [{ role: "user", content }] });
    assert.match(text, /^image image\/png \d+$/);
  },
  completions: async () => {
    assert.equal(
      (await ai.generateText({ model: provider.completionModel("talk"), prompt: "ab" })).text.includes("AB"),
      true,
    );
  },
  "embed, embedMany": async () => {
    const embedding = provider.embeddingModel("embed");
    const one = await ai.embed({ model: embedding, value: "good" });
    assert.deepEqual(one.embedding.map(Math.fround), GOOD.map(Math.fround));
    assert.equal((await ai.embedMany({ model: embedding, values: ["good", "bad"] })).embeddings.length, 2);
  },
  generateImage: async () => {
    const make = ai.generateImage ?? ai.experimental_generateImage;
    const { images } = await make({ model: provider.imageModel("talk"), prompt: "a dot", n: 2 });
    assert.deepEqual(
      images.map(({ base64 }) => base64),
      [PNG, PNG],
    );
  },
  errors: async () => {
    const missing = await failure(ai.generateText({ model: provider("talc"), prompt: "x", maxRetries: 0 }));
    assert.equal(missing.statusCode, 404);
    assert.match(missing.message, /talc/);
  },
});
