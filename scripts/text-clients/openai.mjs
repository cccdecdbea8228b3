import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { all, CITY, failure, GOOD, ORIGIN, PNG, runCalls, WAV } from "./calls.mjs";

const client = new OpenAI({ baseURL: `${ORIGIN}/v1`, apiKey: "any", maxRetries: 0 });
const user = (content) => ({ role: "user", content });
const asked = (content, more = {}) => ({ model: "talk", messages: [user(content)], ...more });
const TOOLS = [{ type: "function", function: { name: "weather", parameters: CITY } }];

await runCalls({
  "chat at once": async () => {
    const { choices, usage } = await client.chat.completions.create(asked("two words"));
    assert.equal(choices[0].message.content, "two words ");
    assert.deepEqual(usage, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 });
  },
  "chat in parts": async () => {
    const stream = client.chat.completions.stream(asked("two words", { stream_options: { include_usage: true } }));
    assert.equal(await stream.finalContent(), "two words ");
    assert.equal((await stream.totalUsage()).total_tokens, 3);
  },
  "chat: tools, in parts, and their results": async () => {
    const seen = [];
    const weather = { name: "weather", parse: JSON.parse, parameters: CITY };
    const tool = { ...weather, function: (given) => seen.push(given) && "dry" };
    const runner = client.chat.completions.runTools(
      asked("weather?", { stream: true, tools: [{ type: "function", function: tool }] }),
    );
    assert.equal(await runner.finalContent(), "It is dry.");
    assert.deepEqual(seen, [{ city: "Riga" }]);
  },
  "chat: a required tool": async () => {
    const { choices } = await client.chat.completions.create(
      asked("weather", { tools: TOOLS, tool_choice: "required" }),
    );
    assert.equal(choices[0].finish_reason, "tool_calls");
    assert.deepEqual(JSON.parse(choices[0].message.tool_calls[0].function.arguments), { city: "Riga" });
  },
  "chat: an answer by a schema": async () => {
    const format = { type: "json_schema", json_schema: { name: "place", strict: true, schema: CITY } };
    const { choices } = await client.chat.completions.parse(asked("where", { response_format: format }));
    assert.deepEqual(choices[0].message.parsed, { city: "Riga" });
  },
  "chat: a picture and a sound": async () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
    const sound = { type: "input_audio", input_audio: { data: WAV.toString("base64"), format: "wav" } };
    const { choices } = await client.chat.completions.create(asked([{ type: "text", text: "see" }, image, sound]));
    assert.match(choices[0].message.content, /^image image\/png \d+, audio audio\/wav 16$/);
  },
  "responses at once and in parts": async () => {
    assert.equal((await client.responses.create({ model: "talk", input: "two words" })).output_text, "two words ");
    const stream = client.responses.stream({ model: "talk", input: "two words" });
    assert.equal((await stream.finalResponse()).output_text, "two words ");
  },
  "completions at once and in parts": async () => {
    const whole = await client.completions.create({ model: "talk", prompt: "ab" });
    assert.equal(whole.choices[0].text, "AB");
    const parts = await all(await client.completions.create({ model: "talk", prompt: "ab", stream: true }));
    assert.equal(parts.map(({ choices }) => choices[0]?.text ?? "").join(""), "AB");
  },
  "embeddings in base64 and as numbers": async () => {
    for (const more of [{}, { encoding_format: "float" }]) {
      const { data } = await client.embeddings.create({ model: "embed", input: ["good", "bad"], ...more });
      assert.deepEqual([...data[0].embedding].map(Math.fround), GOOD.map(Math.fround));
    }
  },
  "audio: transcriptions, translations": async () => {
    const file = await toFile(WAV, "a.wav");
    const text = "audio/wav of 16 bytes";
    assert.equal((await client.audio.transcriptions.create({ model: "talk", file })).text, text);
    const more = { response_format: "verbose_json", timestamp_granularities: ["segment"], language: "lv" };
    const { segments, language } = await client.audio.transcriptions.create({ model: "talk", file, ...more });
    assert.deepEqual([segments[0].text, language], ["a sound", "lv"]);
    assert.equal((await client.audio.translations.create({ model: "talk", file })).text, text);
    const events = await all(await client.audio.transcriptions.create({ model: "talk", file, stream: true }));
    assert.equal(events.at(-1).text, text);
  },
  "audio: speech": async () => {
    const answer = await client.audio.speech.create({
      model: "talk",
      voice: "alloy",
      input: "hi",
      response_format: "wav",
    });
    assert.equal(
      Buffer.from(await answer.arrayBuffer())
        .subarray(0, 4)
        .toString(),
      "RIFF",
    );
  },
  "images: generations": async () => {
    const { data } = await client.images.generate({ model: "talk", prompt: "a dot", n: 2, size: "256x256" });
    assert.deepEqual(
      data.map(({ b64_json }) => b64_json),
      [PNG, PNG],
    );
  },
  models: async () => {
    const ids = (await all(client.models.list())).map(({ id }) => id);
    assert.ok(ids.includes("talk") && ids.includes("embed"), String(ids));
    assert.equal((await client.models.retrieve("talk")).id, "talk");
  },
  errors: async () => {
    assert.ok(
      (await failure(client.chat.completions.create({ ...asked("x"), model: "talc" }))) instanceof OpenAI.NotFoundError,
    );
    assert.ok((await failure(client.chat.completions.create(asked("fail")))) instanceof OpenAI.InternalServerError);
    assert.ok(
      (await failure(client.embeddings.create({ model: "embed", input: [[1, 2]] }))) instanceof OpenAI.BadRequestError,
    );
  },
});
