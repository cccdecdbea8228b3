import assert from "node:assert/strict";
import { Ollama } from "ollama";
import { all, CITY, failure, ORIGIN, PNG, runCalls } from "./calls.mjs";

const client = new Ollama({ host: ORIGIN });
const asked = (content, more = {}) => ({ model: "talk", messages: [{ role: "user", content }], ...more });
const textOf = (parts) => parts.map(({ message, response }) => message?.content ?? response).join("");

await runCalls({
  "chat at once and in parts": async () => {
    assert.equal((await client.chat(asked("two words"))).message.content, "two words ");
    const parts = await all(await client.chat(asked("two words", { stream: true })));
    assert.equal(textOf(parts), "two words ");
    assert.deepEqual([parts.at(-1).done, parts.at(-1).eval_count], [true, 2]);
  },
  "chat: tools and their results": async () => {
    const tools = [{ type: "function", function: { name: "weather", parameters: CITY } }];
    const { message } = await client.chat(asked("weather?", { tools }));
    assert.deepEqual(message.tool_calls[0].function, { name: "weather", arguments: { city: "Riga" } });
    const messages = [...asked("weather?").messages, message, { role: "tool", tool_name: "weather", content: "dry" }];
    assert.equal((await client.chat({ model: "talk", messages, tools })).message.content, "It is dry.");
  },
  "chat: a picture, thoughts, an answer by a schema": async () => {
    const messages = [{ role: "user", content: "see", images: [PNG] }];
    assert.match((await client.chat({ model: "talk", messages })).message.content, /^image image\/png \d+$/);
    assert.equal((await client.chat(asked("think", { think: true }))).message.thinking, "hm");
    const { message } = await client.chat(asked("where", { format: CITY }));
    assert.deepEqual(JSON.parse(message.content), { city: "Riga" });
  },
  "generate at once and in parts": async () => {
    assert.equal((await client.generate({ model: "talk", prompt: "two words" })).response, "two words ");
    const parts = await all(await client.generate({ model: "talk", prompt: "two words", stream: true }));
    assert.equal(textOf(parts), "two words ");
  },
  "embed, embeddings": async () => {
    assert.equal((await client.embed({ model: "embed", input: ["good", "bad"] })).embeddings.length, 2);
    assert.equal((await client.embeddings({ model: "embed", prompt: "good" })).embedding.length, 3);
  },
  "list, ps, show, version": async () => {
    const { models } = await client.list();
    assert.ok(
      models.some(({ name }) => name === "talk:latest"),
      JSON.stringify(models),
    );
    assert.ok((await client.ps()).models.length > 0);
    assert.ok((await client.show({ model: "talk" })).capabilities.includes("completion"));
    assert.match((await client.version()).version, /^\d/);
  },
  errors: async () => {
    assert.equal((await failure(client.chat({ ...asked("x"), model: "talc" }))).status_code, 404);
    assert.match((await failure(client.pull({ model: "llama" }))).message, /./);
  },
});
