import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { authFiles, bearer, TOKENS } from "../../access/auth-fixture.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { textHooks } from "../openai/text-hooks.ts";

const serve = shareServer(() => ({
  models: { talk: { driver: "null", hooks: textHooks() }, plain: { driver: "null" } },
}));

async function send(path: string, body?: unknown, init: RequestInit = {}) {
  const { httpUrl } = await serve();
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(httpUrl + path, { ...post, ...init });
  return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
}

/** The items of a stream. */
async function stream(path: string, body: object) {
  const { status, type, text } = await send(path, body);
  expect([status, type]).toEqual([200, "application/x-ndjson"]);
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

async function whole(path: string, body: object) {
  const { status, text } = await send(path, { ...body, stream: false });
  return [status, JSON.parse(text)] as const;
}

const CHAT = "/api/chat";
const GENERATE = "/api/generate";
const chat = (content: string, more: object = {}) => ({
  model: "talk",
  messages: [{ role: "user", content }],
  ...more,
});
const HEAD = { model: "talk", created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) };
const ns = expect.any(Number);
const TIMES = { total_duration: ns, load_duration: ns, prompt_eval_duration: ns, eval_duration: ns };
const COUNTS = { prompt_eval_count: 1, eval_count: 2 };

describe("POST /api/chat", () => {
  it("gives lines with more of the message, and a last one with counts and times", async () => {
    const items = await stream(CHAT, chat("two words"));
    expect(items).toEqual([
      { ...HEAD, message: { role: "assistant", content: "two " }, done: false },
      { ...HEAD, message: { role: "assistant", content: "words " }, done: false },
      { ...HEAD, message: { role: "assistant", content: "" }, done: true, done_reason: "stop", ...TIMES, ...COUNTS },
    ]);
    const { total_duration: total, load_duration: load, prompt_eval_duration: first, eval_duration: rest } = items[2];
    expect(load + first + rest).toBeGreaterThan(total * 0.99);
    expect(load + first + rest).toBeLessThan(total * 1.01 + 1);
  });

  it("gives one object, with the tag that stands for none", async () => {
    const body = chat("two words", { model: "talk:latest", options: { num_predict: 2 } });
    const message = { role: "assistant", content: "two words " };
    expect(await whole(CHAT, body)).toEqual([
      200,
      { ...HEAD, model: "talk:latest", message, done: true, done_reason: "length", ...TIMES, ...COUNTS },
    ]);
  });

  it("gives each call of a tool as one item, with its arguments as an object", async () => {
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
    const weather = { id: expect.stringMatching(/^call_/), function: { name: "weather", arguments: { city: "Riga" } } };
    const other = { id: "own", function: { name: "other", arguments: { a: 1 } } };
    const items = await stream(CHAT, chat("weather", { tools }));
    expect(items.slice(0, -1).map(({ message }) => message.tool_calls)).toEqual([[weather], [other]]);
    const [, { message }] = await whole(CHAT, chat("weather", { tools }));
    expect(message.tool_calls).toEqual([weather, other]);
    const messages = [
      { role: "user", content: "weather" },
      { role: "assistant", tool_calls: [{ function: { name: "weather", arguments: { city: "Riga" } } }] },
      { role: "tool", tool_name: "weather", tool_call_id: "own", content: "dry" },
    ];
    const [, answered] = await whole(CHAT, { model: "talk", messages });
    expect(answered.message.content).toBe("It is dry.");
  });

  it("gives a call whose arguments come behind a text as one item, once it has ended", async () => {
    const items = await stream(CHAT, chat("between"));
    const call = { id: expect.stringMatching(/^call_/), function: { name: "f", arguments: { a: 1 } } };
    expect(items.map(({ message: { content, tool_calls } }) => [content, tool_calls])).toEqual([
      ["x", undefined],
      ["", [call]],
      ["", undefined],
    ]);
  });

  it("comes in parts where stream is null", async () => {
    expect((await stream(CHAT, chat("two words", { stream: null }))).length).toBe(3);
  });

  it("gives thoughts beside the message", async () => {
    const items = await stream(CHAT, chat("think"));
    expect(items.map(({ message }) => [message.thinking, message.content])).toEqual([
      ["hm", ""],
      [undefined, "so"],
      [undefined, ""],
    ]);
    expect((await whole(CHAT, chat("think")))[1].message).toEqual({ role: "assistant", content: "so", thinking: "hm" });
  });

  it("gives the function the request as every other protocol does, with Ollama's options", async () => {
    const schema = { type: "object" };
    const options = { num_predict: -1, stop: ["end"], top_k: 4, temperature: null };
    const [, { message }] = await whole(CHAT, chat("request", { options, format: schema, think: true, tools: null }));
    expect(JSON.parse(message.content)).toEqual({
      ...{ tools: [], toolChoice: "none", stop: ["end"], roles: ["user"] },
      responseFormat: { type: "json_schema", name: "", schema, strict: true },
      more: { top_k: 4, think: true },
    });
  });

  it("gives the function images by their first bytes", async () => {
    const gif = Buffer.from("GIF89a..").toString("base64");
    const [, { message }] = await whole(CHAT, {
      model: "talk",
      messages: [{ role: "user", content: "media", images: [gif] }],
    });
    expect(JSON.parse(message.content)).toEqual([
      ["text", null, null],
      ["image", "image/gif", 8],
    ]);
  });

  it("ends a stream that fails with a line of the error, and fails with a status before it", async () => {
    expect((await stream(CHAT, chat("late"))).at(-1)).toEqual({ error: "The hook chat failed: no more words" });
    const { status, text } = await send(CHAT, chat("fail"));
    expect([status, JSON.parse(text)]).toEqual([500, { error: "The hook chat failed: no words" }]);
  });

  it.each([
    ["a model that is not there", chat("hi", { model: "talk:8b" }), 404, "'talk:8b' is not found"],
    ["a model without the function", chat("hi", { model: "plain" }), 404, "expected a model whose hook file has the"],
    ["no image", { model: "talk", messages: [{ role: "user", images: ["AAEC"] }] }, 400, "messages[0].images[0] is no"],
    [
      "many images",
      { messages: [{ role: "user", images: Array(4097).fill("") }] },
      400,
      "is a list of 4097 items; expected 4096",
    ],
    ["a message without a role", { model: "talk", messages: [{}] }, 400, "messages[0].role is missing"],
    ["an unknown format", chat("hi", { format: 5 }), 400, "format is 5; expected json, or a JSON schema"],
    ["options of another type", chat("hi", { options: { top_p: "x" } }), 400, 'options.top_p is "x"'],
    [
      "arguments as a text",
      { messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{}" } }] }] },
      400,
      "messages[0].tool_calls[0].function.arguments is",
    ],
    ["unloading", { model: "talk", messages: [], keep_alive: 0 }, 400, "keep_alive is 0, which unloads a model"],
    ["unloading by a duration", { model: "talk", messages: [], keep_alive: "0h0.0s" }, 400, "keep_alive is 0, which"],
  ] as const)("refuses %s", async (_, body, status, message) => {
    const answer = await send(CHAT, body);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error: expect.stringContaining(message) }]);
  });

  it("answers a request without messages, which loads a model, and refuses an unknown one", async () => {
    const { text } = await send(CHAT, { model: "talk", keep_alive: "0h30m" });
    const message = { role: "assistant", content: "" };
    expect(JSON.parse(text)).toEqual({ ...HEAD, message, done: true, done_reason: "load" });
    expect((await send(CHAT, { model: "none" })).status).toBe(404);
  });
});

describe("POST /api/generate", () => {
  it("asks the function chat, with the system before the prompt", async () => {
    expect(await stream(GENERATE, { model: "talk", prompt: "two words" })).toEqual([
      { ...HEAD, response: "two ", done: false },
      { ...HEAD, response: "words ", done: false },
      { ...HEAD, response: "", done: true, done_reason: "stop", ...TIMES, ...COUNTS },
    ]);
    const [, { response }] = await whole(GENERATE, { model: "talk", prompt: "request", system: "be short" });
    expect(JSON.parse(response).roles).toEqual(["system", "user"]);
  });

  it("asks the function complete for a raw prompt, and for the text in a gap", async () => {
    const { response: raw } = (await whole(GENERATE, { model: "talk", prompt: "ab", raw: true }))[1];
    const { response: filled } = (await whole(GENERATE, { model: "talk", prompt: "ab", suffix: "!" }))[1];
    expect([raw, filled]).toEqual(["AB", "AB!"]);
    const [status, { error }] = await whole(GENERATE, { prompt: "a", raw: true, images: [GIF] });
    expect([status, error]).toEqual([400, expect.stringContaining("images is a list of images; expected none")]);
  });

  it("answers a request without a prompt, which loads a model", async () => {
    expect((await whole(GENERATE, { model: "talk" }))[1]).toEqual({
      ...HEAD,
      response: "",
      done: true,
      done_reason: "load",
    });
  });
});

const GIF = Buffer.from("GIF89a..").toString("base64");

describe("vectors", () => {
  it("are lists, or one list for the older route", async () => {
    const vectors = [
      [1, expect.closeTo(0.1), -2.5],
      [3, expect.closeTo(0.1), -2.5],
    ];
    const { text } = await send("/api/embed", { model: "talk", input: ["a", "bcd"], truncate: true });
    const times = { total_duration: ns, load_duration: ns };
    expect(JSON.parse(text)).toEqual({ model: "talk", embeddings: vectors, ...times, prompt_eval_count: 2 });
    const { text: older } = await send("/api/embeddings", { model: "talk:latest", prompt: "bcd" });
    expect(JSON.parse(older)).toEqual({ model: "talk:latest", embedding: vectors[1] });
    const { text: short } = await send("/api/embed", { model: "talk", input: "a", dimensions: 2 });
    expect(JSON.parse(short).embeddings).toEqual([vectors[0]!.slice(0, 2)]);
  });

  it("are none for no text, by which clients load a model", async () => {
    for (const body of [{ input: "" }, { input: [] }, {}]) {
      const { status, text } = await send("/api/embed", { model: "talk:latest", ...body });
      expect([status, JSON.parse(text)]).toEqual([200, { model: "talk:latest", embeddings: [] }]);
    }
    const { text: older } = await send("/api/embeddings", { model: "talk", prompt: "" });
    expect(JSON.parse(older)).toEqual({ model: "talk", embedding: [] });
    expect((await send("/api/embed", { model: "plain" })).status).toBe(404);
  });

  it("are refused for what is no text", async () => {
    for (const [path, body] of [
      ["/api/embed", { model: "talk", input: [1] }],
      ["/api/embeddings", { model: "talk", prompt: ["a"] }],
    ] as const) {
      const { status, text } = await send(path, body);
      expect([status, JSON.parse(text)]).toEqual([400, { error: expect.stringMatching(/^(?:input|prompt) is /) }]);
    }
  });
});

describe("models", () => {
  const digest = createHash("sha256").update("talk 1").digest("hex");
  const details = { parent_model: "", format: "kserving", parameter_size: "", quantization_level: "", family: "null" };
  const talk = {
    name: "talk:latest",
    model: "talk:latest",
    size: ns,
    digest,
    details: { ...details, families: ["null"] },
  };

  it("are listed if they answer requests about texts", async () => {
    const { text } = await send("/api/tags");
    expect(JSON.parse(text)).toEqual({ models: [{ ...talk, modified_at: HEAD.created_at }] });
    const { text: running } = await send("/api/ps");
    expect(JSON.parse(running)).toEqual({ models: [{ ...talk, size_vram: 0, expires_at: "9999-12-31T23:59:59Z" }] });
  });

  it("are shown with what their functions take", async () => {
    const { text } = await send("/api/show", { model: "talk:latest" });
    expect(JSON.parse(text)).toMatchObject({
      details: talk.details,
      capabilities: ["completion", "tools", "vision", "insert", "embedding"],
      model_info: { "general.basename": "talk" },
    });
    const { status, text: unknown } = await send("/api/show", { name: "none" });
    expect([status, JSON.parse(unknown)]).toEqual([404, { error: expect.stringContaining("'none' is not found") }]);
  });

  it("are not pulled, pushed, made, copied or deleted, which is refused with the reason", async () => {
    for (const path of ["pull", "push", "create", "copy"]) {
      const { status, text } = await send(`/api/${path}`, { model: "talk" });
      const message = `This server does not ${path} models as Ollama does: it serves those that it was started with.`;
      expect([status, JSON.parse(text)]).toEqual([501, { error: message }]);
    }
    expect((await send("/api/delete", undefined, { method: "DELETE" })).status).toBe(501);
  });

  it("are of a version of the API that programs take for new enough", async () => {
    expect(JSON.parse((await send("/api/version")).text)).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });

  it("are of a server that runs, as its own clients ask, and no others", async () => {
    for (const agent of ["ollama-js/0.6.3 (x64 linux Node.js/v20)", "ollama-python/0.6.3 (x86_64 linux) Python/3.12"]) {
      const { status, text } = await send("/", undefined, { headers: { "user-agent": agent } });
      expect([status, text]).toEqual([200, "Ollama is running"]);
    }
    expect((await send("/", undefined, { method: "HEAD" })).status).toBe(200);
    expect((await send("/")).text).toContain("POST / runs a model");
    const html = await send("/", undefined, { headers: { accept: "text/html", "user-agent": "ollama-page" } });
    expect(html.text).not.toContain("Ollama is running");
  });
});

it("asks for the credentials that the server asks for, and counts as a protocol", async () => {
  const { httpUrl } = await startServer({
    models: { talk: { driver: "null", hooks: textHooks() } },
    auth: await authFiles(),
  });
  const post = (headers: Record<string, string>) =>
    fetch(httpUrl + CHAT, { method: "POST", body: JSON.stringify(chat("hi")), headers });
  const refused = await post({});
  expect([refused.status, await refused.json()]).toEqual([401, { error: expect.stringContaining("Authorization") }]);
  expect((await post({ authorization: bearer(TOKENS.admin) })).status).toBe(200);
  expect((await fetch(`${httpUrl}/api/tags`)).status).toBe(401);
  const metrics = await fetch(`${httpUrl}/metrics`, { headers: { authorization: bearer(TOKENS.admin) } });
  expect(await metrics.text()).toContain('protocol="ollama"');
});
