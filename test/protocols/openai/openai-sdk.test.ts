import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { textHooks } from "./text-hooks.ts";

const serve = shareServer(() => ({
  models: { talk: { driver: "null", hooks: textHooks() }, plain: { driver: "null" } },
}));

/** The SDK as it is, without its retries. */
async function client(base = "/v1"): Promise<OpenAI> {
  const { httpUrl } = await serve();
  return new OpenAI({ baseURL: httpUrl + base, apiKey: "any", maxRetries: 0 });
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const user = (content: string) => ({ role: "user", content }) as const;
const WEATHER = { type: "function", function: { name: "weather", parameters: { type: "object" } } } as const;

describe("chat.completions of the SDK", () => {
  it.each(["/v1", "/v3", "/openai/v1"])("gives a whole answer at %s", async (base) => {
    const answer = await (await client(base)).chat.completions.create({ model: "talk", messages: [user("two words")] });
    expect(answer).toEqual({
      id: expect.stringMatching(/^chatcmpl-\w{32}$/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "talk",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "two words ", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
  });

  it("gives the same answer in parts, with the usage at the end where that is asked for", async () => {
    const stream = await (await client()).chat.completions.create({
      ...{ model: "talk", messages: [user("two words")], max_tokens: 2, stream: true },
      stream_options: { include_usage: true },
    });
    const chunks = await all(stream);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta);
    expect(deltas).toEqual([
      { role: "assistant", content: "" },
      { content: "two " },
      { content: "words " },
      {},
      undefined,
    ]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("length");
    expect(chunks.map(({ usage }) => usage)).toEqual([
      ...Array(4).fill(null),
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ]);
    expect(new Set(chunks.map(({ id, created, object }) => `${id} ${created} ${object}`)).size).toBe(1);
  });

  it("takes calls of tools, whole and in parts, and what they answer", async () => {
    const sdk = await client();
    const asked = { model: "talk", messages: [user("weather")], tools: [WEATHER] };
    const whole = await sdk.chat.completions.create(asked);
    const streamed = await sdk.chat.completions.stream(asked).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      const { message, finish_reason } = choices[0]!;
      expect([message.content, finish_reason]).toEqual([null, "tool_calls"]);
      expect(message.tool_calls).toMatchObject([
        {
          id: expect.stringMatching(/^call_\w{32}$/),
          type: "function",
          function: { name: "weather", arguments: '{"city":"Riga"}' },
        },
        { id: "own", type: "function", function: { name: "other", arguments: '{"a":1}' } },
      ]);
    }
    const call = whole.choices[0]!.message;
    const answered = await sdk.chat.completions.create({
      ...asked,
      messages: [user("weather"), call, { role: "tool", tool_call_id: call.tool_calls![0]!.id, content: "dry" }],
    });
    expect(answered.choices[0]!.message.content).toBe("It is dry.");
  });

  it("ends the generator when the loop over the parts is left", async () => {
    const sdk = await client();
    const stream = await sdk.chat.completions.create({ model: "talk", messages: [user("endless")], stream: true });
    for await (const { choices } of stream) if (choices[0]?.delta.content === "word ") break;
    const state = async () => {
      const answer = await sdk.chat.completions.create({ model: "talk", messages: [user("state")] });
      return answer.choices[0]!.message.content;
    };
    await expect.poll(state).toBe('{"ended":1}');
  });

  it("throws the SDK's errors: for an unknown model, a wrong member, a hook that fails before and after its first part", async () => {
    const sdk = await client();
    const ask = (model: string, text: string, more = {}) =>
      sdk.chat.completions.create({ model, messages: [user(text)], ...more }).catch((reason: unknown) => reason);
    const unknown = await ask("talc", "hi");
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
    expect(unknown).toMatchObject({ status: 404, code: "model_not_found", param: "model", type: "not_found_error" });
    expect(unknown).toMatchObject({ error: { did_you_mean: "talk" }, requestID: expect.any(String) });
    const wrong = await ask("talk", "hi", { temperature: "hot" });
    expect(wrong).toBeInstanceOf(OpenAI.BadRequestError);
    expect(wrong).toMatchObject({ param: "temperature", type: "invalid_request_error", code: null });
    const long = await ask("talk", "too long");
    expect(long).toMatchObject({ status: 400, code: "context_length_exceeded" });
    const failed = await ask("talk", "fail");
    expect(failed).toBeInstanceOf(OpenAI.InternalServerError);
    expect(failed).toMatchObject({ message: expect.stringContaining("The hook chat failed: no words") });
    expect(await ask("talk", "fail", { stream: true })).toBeInstanceOf(OpenAI.InternalServerError);
    const stream = await sdk.chat.completions.create({ model: "talk", messages: [user("late")], stream: true });
    const late = await all(stream).catch((reason: unknown) => reason);
    expect(late).toBeInstanceOf(OpenAI.APIError);
    expect(late).toMatchObject({ error: { type: "server_error", message: "The hook chat failed: no more words" } });
  });
});

describe("the other routes of the SDK", () => {
  it("completions goes on with a text, whole and in parts", async () => {
    const sdk = await client();
    const whole = await sdk.completions.create({ model: "talk", prompt: ["ab"], suffix: "!", echo: true });
    expect(whole).toMatchObject({
      ...{ id: expect.stringMatching(/^cmpl-/), object: "text_completion" },
      choices: [{ index: 0, text: "abAB!", logprobs: null, finish_reason: "stop" }],
      usage: { total_tokens: 2 },
    });
    const parts = await all(await sdk.completions.create({ model: "talk", prompt: "ab", stream: true }));
    expect(parts.map(({ choices }) => [choices[0]?.text, choices[0]?.finish_reason])).toEqual([
      ["AB", null],
      ["", "stop"],
    ]);
  });

  it("embeddings come in base64, which the SDK asks for by itself, and as numbers", async () => {
    const sdk = await client();
    const create = async (more: object) => sdk.embeddings.create({ model: "talk", input: ["a", "bcd"], ...more });
    const expected = [
      [1, expect.closeTo(0.1), -2.5],
      [3, expect.closeTo(0.1), -2.5],
    ];
    for (const more of [{}, { encoding_format: "float" }]) {
      const { data, model, usage } = await create(more);
      expect(data.map(({ embedding }) => [...embedding])).toEqual(expected);
      expect(data.map(({ index, object }) => [index, object])).toEqual([
        [0, "embedding"],
        [1, "embedding"],
      ]);
      expect([model, usage]).toEqual(["talk", { prompt_tokens: 2, total_tokens: 2 }]);
    }
    expect((await create({ dimensions: 2 })).data[0]?.embedding).toHaveLength(2);
    const refused = await create({ dimensions: 7 }).catch((reason: unknown) => reason);
    expect(refused).toMatchObject({ status: 400, param: "dimensions" });
  });

  it("models lists what is served, and tells of one", async () => {
    const sdk = await client();
    const models = await all(sdk.models.list());
    expect(models.map(({ id, object, owned_by }) => [id, object, owned_by])).toEqual([
      ["talk", "model", "kserving"],
      ["plain", "model", "kserving"],
    ]);
    expect(await sdk.models.retrieve("plain")).toMatchObject({
      ...{ id: "plain", object: "model", created: models[0]!.created },
      model_version_status: [{ version: "1", state: "AVAILABLE" }],
    });
    const missing = await sdk.models.retrieve("plane").catch((reason: unknown) => reason);
    expect(missing).toMatchObject({ status: 404, code: "model_not_found", error: { did_you_mean: "plain" } });
  });
});
