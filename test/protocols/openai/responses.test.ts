import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { textHooks } from "./text-hooks.ts";

const serve = shareServer(() => ({ models: { talk: { driver: "null", hooks: textHooks() } } }));
const PATH = "/v1/responses";
const FACTS = { model: "talk" };
const WEATHER = {
  type: "function",
  name: "weather",
  description: "d",
  strict: false,
  parameters: { type: "object", properties: {} },
} as const;

/** The SDK as it is, without its retries. */
async function client(base = "/v1"): Promise<OpenAI> {
  const { httpUrl } = await serve();
  return new OpenAI({ baseURL: httpUrl + base, apiKey: "any", maxRetries: 0 });
}

async function post(body: object) {
  const answer = await fetch((await serve()).httpUrl + PATH, { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

/** The events of a stream, numbered one by one. */
async function stream(body: object) {
  const { httpUrl } = await serve();
  const events = await (await postForParts(httpUrl + PATH, { ...FACTS, ...body, stream: true })).rest();
  return events.map((text) => {
    const [, name, data] = /^event: ([\w.]+)\ndata: (.*)$/.exec(text)!;
    const { type, ...event } = JSON.parse(data!);
    expect(type).toBe(name);
    return [type, event] as const;
  });
}

const usage = {
  ...{ input_tokens: 1, input_tokens_details: { cached_tokens: 0 } },
  ...{ output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 3 },
};
const message = (text: string) => ({
  ...{ id: expect.stringMatching(/^msg_\w{32}$/), type: "message", status: "completed", role: "assistant" },
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

describe("responses of the SDK", () => {
  it.each(["/v1", "/v3", "/openai/v1"])("come whole at %s", async (base) => {
    const sdk = await client(base);
    const answer = await sdk.responses.create({ model: "talk", input: "two words", metadata: { a: "b" } });
    expect(answer).toMatchObject({
      ...{ id: expect.stringMatching(/^resp_\w{32}$/), object: "response", model: "talk", status: "completed" },
      ...{ output: [message("two words ")], usage, output_text: "two words ", error: null, incomplete_details: null },
      ...{ metadata: { a: "b" }, tools: [], tool_choice: "auto", previous_response_id: null, store: false },
    });
  });

  it("come in parts, from which its helper makes the same", async () => {
    const sdk = await client();
    const answer = await sdk.responses.stream({ model: "talk", input: "two words" }).finalResponse();
    expect([answer.output_text, answer.status, answer.usage]).toEqual(["two words ", "completed", usage]);
  });

  it("take calls of functions, whole and in parts, and what they answer", async () => {
    const sdk = await client();
    const asked = { model: "talk", input: "weather", tools: [WEATHER] };
    const whole = await sdk.responses.create(asked);
    const parted = await sdk.responses.stream(asked).finalResponse();
    for (const { output, tools } of [whole, parted]) {
      expect(tools).toMatchObject([{ name: "weather" }]);
      expect(output).toMatchObject([
        {
          type: "function_call",
          call_id: expect.stringMatching(/^call_/),
          name: "weather",
          arguments: '{"city":"Riga"}',
        },
        { type: "function_call", call_id: "own", name: "other", arguments: '{"a":1}', status: "completed" },
      ]);
    }
    const [call] = whole.output;
    const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall;
    const answered = await sdk.responses.create({
      model: "talk",
      input: [
        { role: "user", content: "weather" },
        ...(whole.output as OpenAI.Responses.ResponseInputItem[]),
        { type: "function_call_output", call_id, output: "dry" },
      ],
    });
    expect(answered.output_text).toBe("It is dry.");
  });

  it("throw the SDK's errors, before the first event and behind it", async () => {
    const sdk = await client();
    const failed = await sdk.responses.create({ model: "talk", input: "fail" }).catch((reason: unknown) => reason);
    expect(failed).toBeInstanceOf(OpenAI.InternalServerError);
    const late = await sdk.responses
      .stream({ model: "talk", input: "late" })
      .finalResponse()
      .catch((reason) => reason);
    expect(late).toBeInstanceOf(OpenAI.APIError);
    expect(late).toMatchObject({ message: expect.stringContaining("no more words") });
  });
});

describe("the stream", () => {
  it("has the events of a text in their order", async () => {
    const events = await stream({ input: "two words" });
    expect(events.map(([, { sequence_number }]) => sequence_number)).toEqual(events.map((_, index) => index));
    const at = { item_id: expect.stringMatching(/^msg_/), output_index: 0, content_index: 0 };
    const part = { type: "output_text", annotations: [], logprobs: [] };
    expect(events.map(([type, { sequence_number: _, ...event }]) => [type, event])).toEqual([
      ["response.created", { response: expect.objectContaining({ status: "in_progress", output: [] }) }],
      ["response.in_progress", { response: expect.objectContaining({ status: "in_progress", output: [] }) }],
      ["response.output_item.added", { output_index: 0, item: { ...message(""), status: "in_progress", content: [] } }],
      ["response.content_part.added", { ...at, part: { ...part, text: "" } }],
      ["response.output_text.delta", { ...at, delta: "two ", logprobs: [] }],
      ["response.output_text.delta", { ...at, delta: "words ", logprobs: [] }],
      ["response.output_text.done", { ...at, text: "two words ", logprobs: [] }],
      ["response.content_part.done", { ...at, part: { ...part, text: "two words " } }],
      ["response.output_item.done", { output_index: 0, item: message("two words ") }],
      [
        "response.completed",
        { response: expect.objectContaining({ status: "completed", output: [message("two words ")] }) },
      ],
    ]);
  });

  it("has a thought as an item before that of the text", async () => {
    const events = await stream({ input: "think" });
    const [, { response }] = events.at(-1)!;
    const thought = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "hm" }] };
    expect(response.output).toEqual([expect.objectContaining(thought), message("so")]);
    expect(events.map(([type]) => type)).toContain("response.reasoning_text.delta");
  });

  it("ends as one that is not complete, or with an error", async () => {
    const [type, { response }] = (await stream({ input: "two words", max_output_tokens: 2 })).at(-1)!;
    expect([type, response.status, response.incomplete_details]).toEqual([
      "response.incomplete",
      "incomplete",
      { reason: "max_output_tokens" },
    ]);
    expect(response.output).toEqual([{ ...message("two words "), status: "incomplete" }]);
    const error = { type: "server_error", message: "The hook chat failed: no more words", code: null, param: null };
    const events = await stream({ input: "late" });
    const sequence_number = events.length - 1;
    expect(events.at(-1)).toEqual(["error", expect.objectContaining({ error, sequence_number })]);
  });
});

it("the function gets the request as from every other route", async () => {
  const { body } = await post({
    ...{ ...FACTS, instructions: "be short", tools: [WEATHER], tool_choice: { type: "function", name: "weather" } },
    input: [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "be kind" }] },
      { type: "reasoning", summary: [] },
      { role: "assistant", content: [{ type: "output_text", text: "hm" }] },
      { type: "function_call", call_id: "a", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "dry" }] },
      { role: "user", content: "request" },
    ],
    ...{ max_output_tokens: 7, text: { format: { type: "json_object" } }, top_k: 4, store: true, temperature: null },
  });
  expect(JSON.parse(body.output[0].content[0].text)).toEqual({
    tools: [{ name: "weather", description: "d", parameters: WEATHER.parameters, strict: false }],
    ...{ toolChoice: { name: "weather" }, responseFormat: { type: "json_object" }, maxTokens: 7, stop: [] },
    ...{ more: { top_k: 4 }, roles: ["system", "system", "assistant", "tool", "user"] },
  });
});

it("an answer tells the form of its text, and the function gets what else is said about that", async () => {
  const { body } = await post({ ...FACTS, input: "request", text: { verbosity: "low" } });
  expect(body.text).toEqual({ format: { type: "text" }, verbosity: "low" });
  expect(JSON.parse(body.output[0].content[0].text).more).toEqual({ text: { verbosity: "low" } });
});

it("the function gets images and sound as bytes", async () => {
  const content = [
    { type: "input_text", text: "media" },
    { type: "input_image", image_url: "data:image/gif;base64,R0lGODlh", detail: "auto" },
    { type: "input_audio", input_audio: { data: "AAECAw==", format: "mp3" } },
  ];
  const { body } = await post({ ...FACTS, input: [{ role: "user", content }] });
  expect(JSON.parse(body.output[0].content[0].text).slice(1)).toEqual([
    ["image", "image/gif", 6],
    ["audio", "audio/mp3", 4],
  ]);
});

it.each([
  ["nothing", {}, "input", "input is missing"],
  ["no item", { input: [] }, "input", "input is an empty list; expected a text, or a list with one item at least"],
  ["thoughts alone", { input: [{ type: "reasoning" }] }, "input", "expected one with a message at least"],
  [
    "no schema",
    { input: "a", text: { format: { type: "json_schema", name: "x" } } },
    "text.format.schema",
    "text.format.schema is missing; expected a JSON schema",
  ],
  ["an unknown item", { input: [{ type: "item_reference", id: "a" }] }, "input[0].type", "function_call_output"],
  [
    "an unknown part",
    { input: [{ role: "user", content: [{ type: "input_file" }] }] },
    "input[0].content[0].type",
    "input_text",
  ],
  [
    "an image by its id",
    { input: [{ role: "user", content: [{ type: "input_image", file_id: "a" }] }] },
    "input[0].content[0].image_url",
    "the image itself",
  ],
  [
    "another tool",
    { input: "a", tools: [{ type: "web_search" }] },
    "tools[0].type",
    'is "web_search"; expected function',
  ],
  [
    "an answer before it",
    { input: "a", previous_response_id: "resp_a" },
    "previous_response_id",
    "no answers are kept",
  ],
  ["the background", { input: "a", background: true }, "background", "background is true; expected false"],
] as const)("a request is refused with its place: %s", async (_, request, param, text) => {
  const { status, body } = await post({ ...FACTS, ...request });
  const error = expect.objectContaining({
    type: "invalid_request_error",
    param,
    message: expect.stringContaining(text),
  });
  expect([status, body]).toEqual([400, { error }]);
});
