import { describe, expect, it } from "vitest";
import { authFiles, TOKENS } from "../../access/auth-fixture.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { textHooks } from "../openai/text-hooks.ts";

const models = () => ({ talk: { driver: "null", hooks: textHooks() }, plain: { driver: "null" } });
const serve = shareServer(() => ({ models: models() }));
const PATH = "/v1/messages";

async function post(body: unknown, path = PATH) {
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
}

/** The events of a stream, each of which is named as its type. */
async function stream(body: object) {
  const { httpUrl } = await serve();
  const events = await (await postForParts(httpUrl + PATH, { ...body, stream: true })).rest();
  return events.map((text) => {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(text)!;
    const event = JSON.parse(data!);
    expect(event.type).toBe(name);
    return event;
  });
}

const ask = (content: unknown, more: object = {}) => ({
  ...{ model: "talk", max_tokens: 100, messages: [{ role: "user", content }] },
  ...more,
});
const FACTS = { id: expect.stringMatching(/^msg_\w{32}$/), type: "message", role: "assistant", model: "talk" };
const WEATHER = { name: "weather", input_schema: { type: "object" } };

/** The request as the function got it. */
async function got(body: object) {
  const { status, body: answer } = await post(body);
  expect([status, answer]).toMatchObject([200, {}]);
  return JSON.parse(answer.content[0].text);
}

describe("POST /v1/messages", () => {
  it("answers with blocks", async () => {
    expect((await post(ask("two words"))).body).toEqual({
      ...FACTS,
      content: [{ type: "text", text: "two words " }],
      ...{ stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 2 } },
    });
    const short = await post(ask("two words", { max_tokens: 2 }));
    expect(short.body.stop_reason).toBe("max_tokens");
    expect((await post(ask("think"))).body.content).toEqual([
      { type: "thinking", thinking: "hm", signature: "" },
      { type: "text", text: "so" },
    ]);
  });

  it("gives the same in parts, as typed events", async () => {
    const start = { ...FACTS, content: [], stop_reason: null, stop_sequence: null };
    const delta = (text: string) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    expect(await stream(ask("two words"))).toEqual([
      { type: "message_start", message: { ...start, usage: { input_tokens: 0, output_tokens: 0 } } },
      { type: "ping" },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      delta("two "),
      delta("words "),
      { type: "content_block_stop", index: 0 },
      {
        ...{ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
        usage: { input_tokens: 1, output_tokens: 2 },
      },
      { type: "message_stop" },
    ]);
    const thought = await stream(ask("think"));
    expect(thought.map(({ index, delta: more }) => [index, more?.type])).toEqual([
      ...[
        [undefined, undefined],
        [undefined, undefined],
      ],
      ...[
        [0, undefined],
        [0, "thinking_delta"],
        [0, undefined],
      ],
      ...[
        [1, undefined],
        [1, "text_delta"],
        [1, undefined],
      ],
      ...[
        [undefined, undefined],
        [undefined, undefined],
      ],
    ]);
  });

  it("takes calls of tools, whole and in parts, and what they answer", async () => {
    const { body } = await post(ask("weather", { tools: [WEATHER] }));
    expect([body.content, body.stop_reason]).toEqual([
      [
        { type: "tool_use", id: expect.stringMatching(/^toolu_/), name: "weather", input: { city: "Riga" } },
        { type: "tool_use", id: "own", name: "other", input: { a: 1 } },
      ],
      "tool_use",
    ]);
    const events = await stream(ask("weather", { tools: [WEATHER] }));
    const json = (at: number) =>
      events.flatMap(({ index, delta }) => (index === at && delta ? [delta.partial_json] : [])).join("");
    expect([json(0), json(1)]).toEqual(['{"city":"Riga"}', '{"a":1}']);
    const [call] = body.content;
    const result = { type: "tool_result", tool_use_id: call.id, content: [{ type: "text", text: "dry" }] };
    const answered = await post({
      ...ask("weather", { tools: [WEATHER] }),
      messages: [
        { role: "user", content: "weather" },
        { role: "assistant", content: body.content },
        { role: "user", content: [result] },
      ],
    });
    expect(answered.body.content).toEqual([{ type: "text", text: "It is dry." }]);
  });

  const ANY = { type: "any", disable_parallel_tool_use: true };
  const PARTS = {
    output_config: { effort: "low" },
    metadata: { team: 5 },
    tool_choice: { disable_parallel_tool_use: true },
  };

  it("takes null for what may be left out", async () => {
    const none = { system: null, tools: null, tool_choice: null, stream: null, output_config: null };
    expect(await got(ask("request", none))).toMatchObject({ tools: [], toolChoice: "none", more: {}, roles: ["user"] });
  });

  it("tells the function of a tool that has failed", async () => {
    const result = { type: "tool_result", tool_use_id: "a", content: "no", is_error: true };
    expect(await got(ask([result, { type: "text", text: "failed" }]))).toEqual([
      ["tool", true],
      ["user", null],
    ]);
  });

  it("ends a stream with arguments of a call whose block has ended, as what the function must not do", async () => {
    const whole = await post(ask("between"));
    expect(whole.body.content).toMatchObject([{ text: "x" }, { type: "tool_use", input: { a: 1 } }]);
    const events = await stream(ask("between"));
    const message = expect.stringContaining("arguments of a tool call behind a text");
    expect(events.at(-1)).toEqual({ type: "error", error: { type: "api_error", message } });
  });

  it("gives the function the request as every other protocol does", async () => {
    const schema = { type: "object" };
    const request = await got({
      ...ask("", { system: [{ type: "text", text: "be short" }], tools: [WEATHER], tool_choice: ANY }),
      messages: [
        { role: "user", content: [{ type: "text", text: "hi" }] },
        { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "" }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a" },
            { type: "text", text: "request" },
          ],
        },
      ],
      ...{
        stop_sequences: ["end"],
        top_k: 4,
        temperature: null,
        output_config: { format: { type: "json_schema", schema }, effort: "low" },
        metadata: { user_id: "ann", team: 5 },
      },
    });
    expect(request).toEqual({
      tools: [{ name: "weather", description: "", parameters: { type: "object" }, strict: false }],
      ...{ toolChoice: "required", maxTokens: 100, stop: ["end"], more: { top_k: 4, ...PARTS } },
      roles: ["system", "user", "assistant", "tool", "user"],
      responseFormat: { type: "json_schema", name: "", schema, strict: true },
    });
  });

  it("gives the function images as bytes, and documents of text as texts", async () => {
    const source = { type: "base64", media_type: "image/gif", data: "R0lGODlh" };
    const blocks = [
      { type: "text", text: "me" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "dia" } },
      { type: "image", source },
    ];
    expect(await got(ask(blocks))).toEqual([
      ["text", null, null],
      ["text", null, null],
      ["image", "image/gif", 6],
    ]);
  });

  it("ends a stream that fails with an event of the error", async () => {
    const error = { type: "api_error", message: "The hook chat failed: no more words" };
    expect((await stream(ask("late"))).at(-1)).toEqual({ type: "error", error });
  });

  it("says of a function that failed that it would fail again", async () => {
    const { status, headers, body } = await post(ask("fail"));
    const error = { type: "api_error", message: "The hook chat failed: no words" };
    expect([status, headers.get("x-should-retry"), body]).toEqual([500, "false", { type: "error", error }]);
  });

  const source = (more: object) => ask([{ type: "image", source: more }]);
  it.each([
    ["nothing", {}, 400, "messages is missing"],
    ["no message", { messages: [] }, 400, "messages is an empty list; expected a list with one message at least"],
    ["a message without content", { messages: [{ role: "user" }] }, 400, "messages[0].content is missing"],
    ["an unknown role", { messages: [{ role: "cat", content: "" }] }, 400, 'messages[0].role is "cat"'],
    ["an unknown block", ask([{ type: "cat" }]), 400, 'messages[0].content[0].type is "cat"'],
    [
      "an address of an image",
      source({ type: "url", url: "http://a" }),
      400,
      "url is an address, which is not fetched",
    ],
    ["no image", source({ type: "base64", media_type: "text/html", data: "AA" }), 400, "source.media_type is"],
    ["a tool of Anthropic's", ask("hi", { tools: [{ type: "bash_20250124", name: "bash" }] }), 400, "tools[0].type is"],
    [
      "a format without a schema",
      ask("hi", { output_config: { format: { type: "json_schema" } } }),
      400,
      "format.schema",
    ],
    ["an unknown format", ask("hi", { output_config: { format: { type: "xml" } } }), 400, 'format.type is "xml"'],
    ["a call in the system", ask("hi", { system: [{ type: "tool_use" }] }), 400, 'system[0].type is "tool_use"'],
    [
      "a result in a result",
      ask([{ type: "tool_result", tool_use_id: "a", content: [{ type: "tool_result" }] }]),
      400,
      'messages[0].content[0].content[0].type is "tool_result"',
    ],
    ["an unknown model", ask("hi", { model: "talc" }), 404, "'talc' is not found"],
    ["a model without the function", ask("hi", { model: "plain" }), 404, "whose hook file has the function chat"],
  ] as const)("refuses %s", async (_, body, status, message) => {
    const answer = await post(body);
    const type = status === 404 ? "not_found_error" : "invalid_request_error";
    const error = expect.objectContaining({ type, message: expect.stringContaining(message) });
    expect([answer.status, answer.body]).toEqual([status, { type: "error", error }]);
  });
});

it("count_tokens is refused with the reason, and other paths below are not there", async () => {
  const counted = await post(ask("hi"), `${PATH}/count_tokens`);
  const message = expect.stringMatching(/^Tokens are not counted here/);
  expect([counted.status, counted.body]).toEqual([404, { type: "error", error: { type: "not_found_error", message } }]);
  const batches = await post({}, `${PATH}/batches`);
  const near = { type: "not_found_error", did_you_mean: "POST /v1/messages" };
  expect([batches.status, batches.body]).toMatchObject([404, { type: "error", error: near }]);
  expect((await post({})).body.error).not.toHaveProperty("field");
  const got = await fetch((await serve()).httpUrl + PATH);
  expect([got.status, await got.json()]).toMatchObject([405, { type: "error" }]);
});

it("models are listed for Anthropic's clients in their form", async () => {
  const { httpUrl } = await serve();
  const headers = { "anthropic-version": "2023-06-01", "x-stainless-lang": "js" };
  const read = async (path: string) => (await fetch(httpUrl + path, { headers })).json();
  const talk = { type: "model", id: "talk", display_name: "talk", created_at: expect.stringMatching(/Z$/) };
  const list = { data: [talk, { ...talk, id: "plain", display_name: "plain" }], has_more: false };
  expect(await read("/v1/models")).toEqual({ ...list, first_id: "talk", last_id: "plain" });
  expect(await read("/v1/models/talk")).toEqual(talk);
  expect(await read("/v1/models/none")).toMatchObject({ type: "error", error: { type: "not_found_error" } });
});

it("takes a token as x-api-key where callers have to be known, and shows it to no hook", async () => {
  const chat = (_: unknown, ctx: { metadata: Record<string, string> }) =>
    JSON.stringify([ctx.metadata["x-api-key"] ?? null, ctx.metadata.authorization ?? null]);
  const stages = { stages: [{ driver: "null" }], hooks: { chat } as never };
  const { httpUrl } = await startServer({ ...stages, auth: await authFiles() });
  const body = JSON.stringify({ messages: [{ role: "user", content: "hi" }] });
  const send = (headers: Record<string, string>, path = PATH) =>
    fetch(httpUrl + path, { method: "POST", body, headers });
  const refused = await send({});
  expect([refused.status, await refused.json()]).toMatchObject([
    401,
    { type: "error", error: { type: "authentication_error" } },
  ]);
  const key = { "x-api-key": TOKENS.admin };
  expect(await (await send(key)).json()).toMatchObject({ content: [{ text: "[null,null]" }] });
  expect((await send({ "x-api-key": "wrong" })).status).toBe(401);
  expect((await send({ ...key, authorization: "Bearer wrong" })).status).toBe(401);
  expect((await send(key, "/v1/chat/completions")).status).toBe(401);
  const open = await startServer(stages);
  const answer = await fetch(open.httpUrl + PATH, { method: "POST", body, headers: { "x-api-key": "any" } });
  expect(await answer.json()).toMatchObject({ content: [{ text: "[null,null]" }] });
});
