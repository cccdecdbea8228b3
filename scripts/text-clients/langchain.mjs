import assert from "node:assert/strict";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOllama, OllamaEmbeddings } from "@langchain/ollama";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { all, CITY, GOOD, ORIGIN, PNG, runCalls } from "./calls.mjs";

const configuration = { baseURL: `${ORIGIN}/v1` };
const openai = new ChatOpenAI({ model: "talk", apiKey: "any", maxRetries: 0, configuration });
const ollama = new ChatOllama({ model: "talk", baseUrl: ORIGIN, maxRetries: 0 });
const tool = { type: "function", function: { name: "weather", description: "tells it", parameters: CITY } };
const question = new HumanMessage("weather?");

const callsOf = (name, model) => ({
  [`${name}: invoke`]: async () => {
    const { content, usage_metadata: usage } = await model.invoke("two words");
    assert.deepEqual([content, usage.total_tokens], ["two words ", 3]);
  },
  [`${name}: stream`]: async () => {
    const chunks = await all(await model.stream("two words"));
    assert.equal(chunks.map(({ content }) => content).join(""), "two words ");
  },
  [`${name}: batch`]: async () => {
    const answers = await model.batch(["a", "b"]);
    assert.deepEqual(
      answers.map(({ content }) => content),
      ["a ", "b "],
    );
  },
  [`${name}: tools and their results`]: async () => {
    const bound = model.bindTools([tool]);
    const called = await bound.invoke([question]);
    const [call] = called.tool_calls;
    assert.deepEqual([call.name, call.args], ["weather", { city: "Riga" }]);
    const result = new ToolMessage({ content: "dry", tool_call_id: call.id ?? "" });
    assert.equal((await bound.invoke([question, called, result])).content, "It is dry.");
  },
  [`${name}: an answer by a schema`]: async () => {
    assert.deepEqual(await model.withStructuredOutput(CITY, { name: "place", method: "jsonSchema" }).invoke("where"), {
      city: "Riga",
    });
  },
  [`${name}: a picture`]: async () => {
    const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }];
    assert.match((await model.invoke([new HumanMessage({ content })])).content, /^image image\/png \d+$/);
  },
});

await runCalls({
  ...callsOf("openai", openai),
  ...callsOf("ollama", ollama),
  "openai: embeddings": async () => {
    const embeddings = new OpenAIEmbeddings({ model: "embed", apiKey: "any", configuration });
    assert.deepEqual((await embeddings.embedQuery("good")).map(Math.fround), GOOD.map(Math.fround));
    assert.equal((await embeddings.embedDocuments(["good", "bad"])).length, 2);
  },
  "ollama: embeddings": async () => {
    const embeddings = new OllamaEmbeddings({ model: "embed", baseUrl: ORIGIN });
    assert.equal((await embeddings.embedQuery("good")).length, 3);
    assert.equal((await embeddings.embedDocuments(["good", "bad"])).length, 2);
  },
});
