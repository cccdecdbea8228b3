import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { all, CITY, failure, ORIGIN, PNG, runCalls } from "./calls.mjs";

const client = new Anthropic({ baseURL: ORIGIN, apiKey: "any", maxRetries: 0 });
const asked = (content, more = {}) => ({
  ...{ model: "talk", max_tokens: 100, messages: [{ role: "user", content }] },
  ...more,
});
const tools = [{ name: "weather", input_schema: CITY }];

await runCalls({
  "messages at once": async () => {
    const { content, stop_reason, usage } = await client.messages.create(asked("two words", { system: "be brief" }));
    assert.deepEqual([content[0].text, stop_reason], ["two words ", "end_turn"]);
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [2, 2]);
  },
  "messages in parts": async () => {
    assert.equal(await client.messages.stream(asked("two words")).finalText(), "two words ");
  },
  "tools, in parts, and their results": async () => {
    for (const ask of [
      () => client.messages.create(asked("weather?", { tools })),
      () => client.messages.stream(asked("weather?", { tools })).finalMessage(),
    ]) {
      const called = await ask();
      const use = called.content.find(({ type }) => type === "tool_use");
      assert.deepEqual([use.name, use.input, called.stop_reason], ["weather", { city: "Riga" }, "tool_use"]);
      const result = { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "dry" }] };
      const messages = [...asked("weather?").messages, { role: "assistant", content: called.content }, result];
      const answer = await client.messages.create({ model: "talk", max_tokens: 100, tools, messages });
      assert.equal(answer.content[0].text, "It is dry.");
    }
  },
  "a picture, thoughts": async () => {
    const source = { type: "base64", media_type: "image/png", data: PNG };
    const { content } = await client.messages.create(asked([{ type: "image", source }]));
    assert.match(content[0].text, /^image image\/png \d+$/);
    const thought = await client.messages.stream(asked("think")).finalMessage();
    assert.deepEqual(
      thought.content.map(({ type }) => type),
      ["thinking", "text"],
    );
  },
  models: async () => {
    assert.ok((await all(client.models.list())).some(({ id }) => id === "talk"));
  },
  errors: async () => {
    assert.ok(
      (await failure(client.messages.create({ ...asked("x"), model: "talc" }))) instanceof Anthropic.NotFoundError,
    );
    assert.ok((await failure(client.messages.create(asked("fail")))) instanceof Anthropic.InternalServerError);
  },
});
