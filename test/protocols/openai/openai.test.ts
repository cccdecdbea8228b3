import { describe, expect, it, vi } from "vitest";
import { HttpExchange } from "../../../src/proxy/http-exchange.ts";
import { authFiles, bearer, TOKENS } from "../../access/auth-fixture.ts";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { textHooks } from "./text-hooks.ts";

const models = () => ({ talk: { driver: "null", hooks: textHooks() }, plain: { driver: "null" } });
const LISTENERS = missingListeners() === undefined ? [1, 2] : [1];

const user = (content: unknown) => ({ role: "user", content });
const chat = (text: unknown, more: object = {}) => ({ model: "talk", messages: [user(text)], ...more });
const CHAT = "/v1/chat/completions";
const EMBED = "/v1/embeddings";
const RERANK = "/v1/rerank";

const serve = shareServer(() => ({ models: models() }));

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: text, headers });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

/** The text of an answer as JSON. */
async function told(text: unknown, more: object = {}): Promise<unknown> {
  const { body } = await post(CHAT, chat(text, more));
  return JSON.parse((body as { choices: [{ message: { content: string } }] }).choices[0].message.content);
}

describe.each(LISTENERS)("a stream of a server with %i listening threads", (listeners) => {
  const share = shareServer(() => ({ listeners, models: models() }));

  it("is events of JSON with the hook's headers, and [DONE] at the end", async () => {
    const { httpUrl } = await share();
    const reader = await postForParts(httpUrl + CHAT, chat("hi", { stream: true }));
    expect(reader.answer.headers).toMatchObject({
      ...{ "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-own": "yes" },
    });
    const events = await reader.rest();
    expect(events.at(-1)).toBe("data: [DONE]");
    const head = expect.stringMatching(
      /^data: \{"id":"chatcmpl-\w{32}","object":"chat\.completion\.chunk","created":\d+,"model":"talk","choices":\[\{"index":0,"delta":\{"role":"assistant","content":""\},"logprobs":null,"finish_reason":null\}\]\}$/,
    );
    expect(events[0]).toEqual(head);
    expect(events).toHaveLength(4);
  });

  it("ends with an error in OpenAI's form, and without [DONE]", async () => {
    const { httpUrl } = await share();
    const events = await (await postForParts(httpUrl + CHAT, chat("late", { stream: true }))).rest();
    const error = { message: "The hook chat failed: no more words", type: "server_error", param: null, code: null };
    expect(JSON.parse(events.at(-1)!.replace(/^data: /, ""))).toEqual({ error });
  });

  it("has its first and last part where the function yields nothing", async () => {
    const { httpUrl } = await share();
    const events = await (await postForParts(httpUrl + CHAT, chat("nothing", { stream: true }))).rest();
    expect(events).toHaveLength(3);
  });

  it("has a long part of the function in pieces, none of which ends within a character", async () => {
    const { httpUrl } = await share();
    const events = await (await postForParts(httpUrl + CHAT, chat("long", { stream: true }))).rest();
    const deltas = events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, "")).choices[0].delta);
    const texts: string[] = deltas.map(({ content = "" }) => content);
    const given: string[] = deltas.map(({ tool_calls: [call] = [] }) => call?.function.arguments ?? "");
    for (const pieces of [texts, given]) {
      expect(pieces.filter((piece) => piece !== "").length).toBe(3);
      expect(pieces.every((piece) => Buffer.from(piece).toString() === piece)).toBe(true);
    }
    expect(texts.join("")).toBe(`a${"😀".repeat(70_000)}`);
    expect(given.join("")).toBe(JSON.stringify({ a: "😀".repeat(70_000) }));
    expect(deltas.flatMap(({ tool_calls = [] }) => tool_calls).filter(({ id }) => id !== undefined)).toHaveLength(1);
    expect(deltas.find(({ reasoning_content }) => reasoning_content !== undefined)).toMatchObject({
      reasoning_content: "r",
    });
  });

  it("is beside whole answers of the other routes", async () => {
    const { httpUrl } = await share();
    const ask = async (path: string, body: object) => {
      const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
      return answer.status;
    };
    expect(await ask(CHAT, chat("hi"))).toBe(200);
    expect(await ask(EMBED, { model: "talk", input: "hi" })).toBe(200);
    expect(await ask(RERANK, { model: "talk", query: "a", documents: ["a"] })).toBe(200);
  });
});

describe("the function chat", () => {
  it("gets the request in one form, with the members that the server does not know", async () => {
    const tool = { type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } };
    const schema = { type: "object", properties: { a: { default: null } } };
    const request = chat("request", {
      messages: [{ role: "developer", content: "be short" }, user([{ type: "text", text: "request" }])],
      ...{ tools: [tool], tool_choice: { type: "function", function: { name: "f" } }, stop: "end", top_k: 4 },
      ...{ max_tokens: 7, response_format: { type: "json_schema", json_schema: { name: "s", schema } } },
    });
    expect(await told("request", request)).toEqual({
      tools: [{ name: "f", description: "d", parameters: { type: "object" }, strict: false }],
      toolChoice: { name: "f" },
      responseFormat: { type: "json_schema", name: "s", schema, strict: false },
      ...{ maxTokens: 7, stop: ["end"], more: { top_k: 4 }, roles: ["system", "user"] },
    });
  });

  it("gets every optional member that is null as one that is absent", async () => {
    const names = ["tools", "tool_choice", "stop", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n"];
    const more = [
      "stream",
      "stream_options",
      "response_format",
      "user",
      "seed",
      "presence_penalty",
      "top_k",
      "logprobs",
    ];
    const nulls = Object.fromEntries([...names, ...more, "frequency_penalty"].map((name) => [name, null]));
    const message = { ...user("request"), name: null, tool_calls: null, tool_call_id: null };
    expect(await told("request", { ...nulls, messages: [message] })).toEqual(await told("request"));
  });

  it("gets images and sound as bytes", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/gif;base64,R0lGODlh", detail: null } };
    const audio = { type: "input_audio", input_audio: { data: "AAECAw==", format: "mp3" } };
    expect(await told([{ type: "text", text: "media" }, image, audio])).toEqual([
      ["text", null, null],
      ["image", "image/gif", 6],
      ["audio", "audio/mp3", 4],
    ]);
  });

  it("gets a large conversation, with every text as it was sent", async () => {
    const long = `${"ü\u0000\ud800".repeat(40_000)}end`;
    const { body } = await post(CHAT, chat(long));
    expect(body).toMatchObject({ choices: [{ message: { content: `${long} ` } }] });
  });

  it("is not alone in that: large texts reach the other functions, and come back", async () => {
    const long = "wort ".repeat(300_000);
    const texts = Array(4).fill(long);
    const encode = vi.spyOn(HttpExchange.prototype, "encode");
    const embedded = await post(EMBED, { model: "talk", input: texts });
    expect((embedded.body as { data: unknown[] }).data).toHaveLength(4);
    const ranked = await post(RERANK, {
      model: "talk",
      query: "a",
      documents: texts,
      top_n: 1,
      return_documents: true,
    });
    expect(ranked.body).toMatchObject({ results: [{ document: { text: long } }] });
    expect(encode.mock.calls.map(([{ name }]) => name)).toContain("writeRanksJob");
    const prompt = long.slice(0, 1_000_000);
    const echoed = await post("/v1/completions", { model: "talk", prompt, echo: true });
    expect(echoed.body).toMatchObject({ choices: [{ text: prompt + prompt.toUpperCase() }] });
    expect(encode.mock.calls.at(-1)?.[0].name).toBe("writeTextJob");
    encode.mockRestore();
  });

  it("may think, which is told beside the message", async () => {
    const { body } = await post(CHAT, chat("think"));
    expect(body).toMatchObject({ choices: [{ message: { content: "so", reasoning_content: "hm" } }] });
  });

  it("answers the only model where none is named, and by the hooks' headers", async () => {
    const server = await startServer({ stages: [{ driver: "null" }], hooks: textHooks() });
    const answer = await fetch(server.httpUrl + CHAT, {
      method: "POST",
      body: JSON.stringify({ messages: [user("hi")] }),
    });
    expect([answer.status, answer.headers.get("x-own"), await answer.json()]).toMatchObject([
      200,
      "yes",
      { model: "default" },
    ]);
  });
});

describe("a request that cannot be answered", () => {
  const image = (url: string) => chat([{ type: "image_url", image_url: { url } }]);
  it.each([
    ["nothing", CHAT, "", null, "The body is empty"],
    ["half a body", CHAT, '{"model":', null, "The body is not JSON"],
    ["a list", CHAT, [], null, "The body is an array; expected a JSON object."],
    ["lists in lists", CHAT, `{"messages":${"[".repeat(2000)}`, null, "nested more than 1000 levels"],
    ["no messages", CHAT, { model: "talk" }, "messages", "messages is missing"],
    [
      "no message",
      CHAT,
      { model: "talk", messages: [] },
      "messages",
      "messages is an empty list; expected a list with",
    ],
    ["a message that is text", CHAT, { model: "talk", messages: ["hi"] }, "messages[0]", 'messages[0] is "hi"'],
    ["a message without a role", CHAT, { model: "talk", messages: [{}] }, "messages[0].role", "expected user, system"],
    [
      "too many messages, of which each is wrong",
      CHAT,
      { model: "talk", messages: Array(4097).fill({}) },
      "messages",
      "messages is a list of 4097 items; expected 4096 at most.",
    ],
    ["an unknown role", CHAT, { model: "talk", messages: [{ role: "cat" }] }, "messages[0].role", 'is "cat"'],
    [
      "an unknown part",
      CHAT,
      chat([{ type: "file" }]),
      "messages[0].content[0].type",
      "text, refusal, image_url, input_audio or audio_url",
    ],
    ["an address of an image", CHAT, image("https://a/b.png"), "messages[0].content[0].image_url.url", "not fetched"],
    ["no image", CHAT, image("data:image/png;base64,<>"), "messages[0].content[0].image_url.url", "no image"],
    ["a page", CHAT, image("data:text/html;base64,AAEC"), "messages[0].content[0].image_url.url", "no image"],
    ["too many choices", CHAT, chat("hi", { n: 129 }), "n", "n is 129; expected 128 at most"],
    ["more runs than choices", "/v1/completions", { model: "talk", prompt: "a", n: 2, best_of: 3 }, "best_of", "2, as"],
    ["a number as text", CHAT, chat("hi", { max_tokens: "5" }), "max_tokens", "expected a whole number, 0 or more"],
    [
      "an unknown format",
      CHAT,
      chat("hi", { response_format: { type: "xml" } }),
      "response_format.type",
      "json_schema",
    ],
    [
      "a format without a schema",
      CHAT,
      chat("hi", { response_format: { type: "json_schema", json_schema: { name: "s" } } }),
      "response_format.json_schema.schema",
      "is missing; expected a JSON schema",
    ],
    [
      "a long echo",
      "/v1/completions",
      { model: "talk", prompt: "x".repeat(1024 * 1024 + 1), echo: true },
      "echo",
      "true for prompts of 1048577 bytes; expected 1048576 at most: leave echo out",
    ],
    [
      "a member of many members",
      CHAT,
      chat("hi", { metadata: Object.fromEntries(Array.from({ length: 131_073 }, (_, at) => [`k${at}`, 1])) }),
      null,
      "more than 131072 members; send less at once",
    ],
    ["token ids", "/v1/completions", { model: "talk", prompt: [1, 2] }, "prompt", "token ids back into text."],
    ["lists of token ids", EMBED, { model: "talk", input: [[1]] }, "input", "check_embedding_ctx_length=False"],
    ["no text", EMBED, { model: "talk", input: [] }, "input", "one text at least"],
    ["texts and numbers", EMBED, { model: "talk", input: ["a", 1] }, "input[1]", "is a number; expected a text"],
    ["too many texts", EMBED, { model: "talk", input: Array(2049).fill("a") }, "input", "2048 at most"],
    ["an unknown encoding", EMBED, { model: "talk", input: "a", encoding_format: "hex" }, "encoding_format", "base64"],
    ["no documents", RERANK, { model: "talk", query: "a" }, "documents", "documents is missing"],
    ["an empty list", RERANK, { model: "talk", query: "a", documents: [] }, "documents", "documents is an empty list"],
    [
      "a document without text",
      RERANK,
      { model: "talk", query: "a", documents: [{}] },
      "documents[0]",
      "documents[0] is undefined",
    ],
    ["a document in a list", RERANK, { model: "talk", query: "a", documents: [["a"]] }, "documents[0]", "is an array"],
    ["no query", RERANK, { model: "talk", documents: ["a"] }, "query", "query is missing"],
  ] as const)("is refused with its place: %s", async (_, path, body, param, message) => {
    const { status, body: answer } = await post(path, body);
    expect([status, answer]).toEqual([
      400,
      {
        error: expect.objectContaining({
          type: "invalid_request_error",
          param,
          message: expect.stringContaining(message),
        }),
      },
    ]);
  });

  it("names a model that has no such function", async () => {
    for (const [path, body] of [
      [CHAT, chat("hi", { model: "plain" })],
      [EMBED, { model: "plain", input: "a" }],
    ] as const) {
      const { status, body: answer } = await post(path, body);
      expect([status, answer]).toMatchObject([404, { error: { param: "model", code: null, type: "not_found_error" } }]);
    }
  });

  it("is told in OpenAI's form where the caller is not known, where the method is wrong, and where there is no route", async () => {
    const server = await startServer({ models: models(), auth: await authFiles() });
    const ask = (path: string, init: RequestInit) => fetch(server.httpUrl + path, init);
    const refused = await ask(CHAT, { method: "POST", body: JSON.stringify(chat("hi")) });
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: "invalid_api_key" } }]);
    const headers = { authorization: bearer(TOKENS.admin) };
    const known = await ask(CHAT, { method: "POST", body: JSON.stringify(chat("hi")), headers });
    expect(known.status).toBe(200);
    for (const path of [CHAT, "/v3/chat/completions"]) {
      const wrong = await ask(path, { headers });
      expect([wrong.status, wrong.headers.get("allow"), await wrong.json()]).toMatchObject([
        405,
        "POST",
        { error: { type: "invalid_request_error" } },
      ]);
    }
    const missing = await ask("/v3/nothing", { method: "POST", body: "{}", headers });
    expect([missing.status, await missing.json()]).toMatchObject([
      404,
      { error: { message: expect.stringMatching(/^There is no POST \/v3\/nothing here\. There is POST \/v3\/chat/) } },
    ]);
  });

  it.each([
    ["/v1/audio/voices", undefined],
    ["/v1/chat/completion", "POST /v1/chat/completions"],
    ["/v3/embedings", "POST /v3/embeddings"],
    ["/openai/v1/rerankk", "POST /openai/v1/rerank"],
    ["/v3/response", "POST /v3/responses"],
  ])("is told of the routes that there are, and of the nearest one: %s", async (path, nearest) => {
    const { status, body } = await post(path, {});
    const [, base] = /^(.*v\d)/.exec(path)!;
    const message = expect.stringContaining(`There is no POST ${path} here. There is POST ${base}/chat/completions, `);
    const hint = nearest === undefined ? {} : { reason: "UNKNOWN_ROUTE", did_you_mean: nearest };
    const error = { message, type: "not_found_error", param: null, code: null, ...hint };
    expect([status, body]).toEqual([404, { error }]);
  });

  it("says whether it can only fail again", async () => {
    const retry = async (text: string, more?: object) =>
      (await post(CHAT, chat(text, more))).headers.get("x-should-retry");
    expect([await retry("fail"), await retry("too long"), await retry("hi", { model: "none" })]).toEqual([
      "false",
      null,
      null,
    ]);
  });

  it("names a number that is no result", async () => {
    const file = `
      export const rerank = ({ documents }) => documents.map(() => NaN);
      export const embed = ({ texts }) => texts.map(() => [1, Infinity]);
    `;
    const hooks = `${tempFolder({ "hooks.mjs": file })}/hooks.mjs`;
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
    for (const [path, body, wrong] of [
      [RERANK, { query: "a", documents: ["a"] }, "NaN"],
      [EMBED, { input: "a" }, "Infinity"],
    ] as const) {
      const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
      const message = `The model default gave ${wrong}, which is no result.`;
      expect([answer.status, await answer.json()]).toMatchObject([500, { error: { message } }]);
    }
  });

  it("names what is wrong in what the function yields", async () => {
    const { status, body } = await post(CHAT, chat("wrong"));
    const message =
      "The hook chat yielded the member txt; expected text, reasoning, refusal, toolCalls, usage, finishReason.";
    expect([status, body]).toEqual([500, { error: { message, type: "server_error", param: null, code: null } }]);
  });
});

describe("rerank", () => {
  it.each(["/v1/rerank", "/v2/rerank", "/v3/rerank", "/openai/v1/rerank", "/rerank"])("sorts at %s", async (path) => {
    const documents = ["x", { text: "a b" }, "y", "c a"];
    const { status, body } = await post(path, {
      model: "talk",
      query: "a",
      documents,
      top_n: 3,
      return_documents: true,
    });
    expect([status, body]).toEqual([
      200,
      {
        ...{ id: expect.stringMatching(/^rerank-/), model: "talk" },
        results: [
          { index: 1, relevance_score: 0.75, document: { text: "a b" } },
          { index: 3, relevance_score: 0.75, document: { text: "c a" } },
          { index: 0, relevance_score: 0.25, document: { text: "x" } },
        ],
      },
    ]);
  });
});

describe("embeddings of a pipeline without the function embed", () => {
  const inputs = (shape: readonly number[]) => [{ name: "text", dtype: "bytes", shape }] as const;
  const outputs = (shape: readonly number[]) => [{ name: "vector", dtype: "float32", shape }] as const;
  const lengths = (text: { readonly data: readonly Uint8Array[] }) => text.data.flatMap(({ length }) => [length, 0.5]);

  it.each([
    ["all texts at once", [-1], [-1, 2]],
    ["all texts at once, in a column", [-1, 1], [-1, 2]],
    ["one text after the other", [1], [1, 2]],
    ["one text after the other, as a vector", [], [2]],
  ])("run it with %s", async (_, input, output) => {
    const shapes: (readonly number[])[] = [];
    const process = ({
      text: { shape, data },
    }: {
      text: { shape: readonly number[]; data: readonly Uint8Array[] };
    }) => {
      shapes.push(shape);
      const rows = output.length === 1 ? [2] : [data.length, 2];
      return { vector: { dtype: "float32", shape: rows, data: Float32Array.from(lengths({ data })) } } as never;
    };
    const hooks = { inputs: inputs(input), outputs: outputs(output), process };
    const server = await startServer({ stages: [{ driver: "null" }], hooks: hooks as never });
    const answer = await fetch(server.httpUrl + EMBED, {
      method: "POST",
      body: JSON.stringify({ input: ["ab", "ü", ""] }),
    });
    const body = (await answer.json()) as { data: { embedding: number[] }[] };
    expect(body.data.map(({ embedding }) => embedding)).toEqual([
      [2, 0.5],
      [2, 0.5],
      [0, 0.5],
    ]);
    expect(shapes).toEqual(input[0] === -1 ? [[3, 1].slice(0, input.length)] : Array(3).fill(input));
  });

  it("are those of each text where a large one comes before a small one and the hooks have a thread", async () => {
    const file = `
      export const inputs = [{ name: "text", dtype: "bytes", shape: [1] }];
      export const outputs = [{ name: "vector", dtype: "float32", shape: [1, 1] }];
      export const process = ({ text }) => ({
        vector: { dtype: "float32", shape: [1, 1], data: Float32Array.of(text.data[0].length) },
      });
    `;
    const hooks = `${tempFolder({ "hooks.mjs": file })}/hooks.mjs`;
    const server = await startServer({ models: { sized: { driver: "null", hooks } } });
    const answer = await fetch(server.httpUrl + EMBED, {
      method: "POST",
      body: JSON.stringify({ input: ["x".repeat(100_000), "hi"] }),
    });
    expect(await answer.json()).toMatchObject({ data: [{ embedding: [100_000] }, { embedding: [2] }] });
  });

  it("are no scores, of which each text has one", async () => {
    for (const shape of [[-1], undefined]) {
      const output = { name: "vector", dtype: "float32", ...(shape && { shape }) } as const;
      const process = () => ({ vector: [1] });
      const hooks = { inputs: inputs([-1]), outputs: [output], process };
      const server = await startServer({ stages: [{ driver: "null" }], hooks: hooks as never });
      const answer = await fetch(server.httpUrl + EMBED, { method: "POST", body: JSON.stringify({ input: "a" }) });
      expect(answer.status).toBe(shape === undefined ? 500 : 404);
    }
  });

  it("are refused where they differ in length", async () => {
    const process = ({ text }: { text: { data: readonly Uint8Array[] } }) => {
      const { length } = text.data[0]!;
      return { vector: { dtype: "float32", shape: [1, length], data: new Float32Array(length) } } as never;
    };
    const hooks = { inputs: inputs([1]), outputs: outputs([1, -1]), process };
    const server = await startServer({ stages: [{ driver: "null" }], hooks: hooks as never });
    const ask = async (input: readonly string[]) => {
      const answer = await fetch(server.httpUrl + EMBED, { method: "POST", body: JSON.stringify({ input }) });
      return [answer.status, await answer.json()];
    };
    const message = "The model default gave vectors of 2 and of 1 numbers; expected one length.";
    expect(await ask(["ab", "c"])).toMatchObject([500, { error: { message } }]);
    expect(await ask(["c", "d"])).toMatchObject([200, { data: [{ embedding: [0] }, { embedding: [0] }] }]);
  });

  it("refuse dimensions that its vectors do not have", async () => {
    const process = () => ({ vector: [[1, 2]] });
    const hooks = { inputs: inputs([-1]), outputs: outputs([-1, 2]), process };
    const server = await startServer({ stages: [{ driver: "null" }], hooks });
    const ask = async (dimensions: number) => {
      const answer = await fetch(server.httpUrl + EMBED, {
        method: "POST",
        body: JSON.stringify({ input: "a", dimensions }),
      });
      return answer.status;
    };
    expect([await ask(2), await ask(1)]).toEqual([200, 400]);
  });
});

describe("GET /v1/models", () => {
  const read = async (url: string, headers: Record<string, string> = {}) => (await fetch(url, { headers })).json();
  const sdk = { "x-stainless-lang": "js" };

  it("has the members of TensorFlow Serving's clients too, and one model alone is as these expect it", async () => {
    const { httpUrl } = await serve();
    const status = { model_version_status: [{ version: "1", state: "AVAILABLE", status: expect.any(Object) }] };
    const own = { id: "plain", object: "model", created: expect.any(Number), owned_by: "kserving" };
    expect(await read(`${httpUrl}/v1/models`)).toMatchObject({
      object: "list",
      data: [{ id: "talk" }, { ...own, ...status }],
    });
    expect(await read(`${httpUrl}/v1/models/plain`)).toEqual(status);
    expect(await read(`${httpUrl}/v1/models/plain`, sdk)).toEqual({ ...own, ...status });
    expect(await read(`${httpUrl}/v3/models/plain`)).toEqual({ ...own, ...status });
  });

  it("has one whose name has a slash, as clients send it", async () => {
    const { httpUrl } = await startServer({ models: { "own/plain": { driver: "null" } } });
    for (const base of ["/v1", "/v3", "/openai/v1"])
      for (const name of ["own/plain", "own%2Fplain"])
        expect(await read(`${httpUrl}${base}/models/${name}`, sdk)).toMatchObject({ id: "own/plain" });
    expect(await read(`${httpUrl}/v3/models/own/other`)).toMatchObject({ error: { code: "model_not_found" } });
  });

  it("is another server's list where a setting says so, except for OpenAI's clients", async () => {
    const { httpUrl } = await startServer({ models: models(), kserveRoutes: true });
    expect(await read(`${httpUrl}/v1/models`)).toEqual({ models: ["talk", "plain"] });
    expect(await read(`${httpUrl}/v1/models`, sdk)).toMatchObject({ object: "list" });
  });
});

describe("an answer that is to fit a JSON schema", () => {
  const answer = async (path: string, body: object) => (await post(path, { model: "talk", ...body })).status;
  const schema = (type: string) => ({ type, properties: { ended: { type: "integer" } }, required: ["ended"] });
  const format = (type: string, strict: boolean) => ({
    response_format: { type: "json_schema", json_schema: { name: "s", strict, schema: schema(type) } },
  });
  const messages = [user("state")];

  it("is an error with the place if it does not, where the schema is strict", async () => {
    expect(await answer(CHAT, { messages, ...format("object", true) })).toBe(200);
    expect(await answer(CHAT, { messages, ...format("array", false) })).toBe(200);
    const ofLlamaCpp = (type: string) => ({ response_format: { type: "json_object", schema: schema(type) } });
    expect(await answer(CHAT, { messages, ...ofLlamaCpp("object") })).toBe(200);
    expect(await answer(CHAT, { messages, ...ofLlamaCpp("array") })).toBe(400);
    const { status, body } = await post(CHAT, chat("state", format("array", true)));
    const message =
      "The answer does not fit the format that the request asks for: the answer is not of the type array.";
    expect([status, body]).toMatchObject([400, { error: { message } }]);
    expect(await answer(CHAT, { messages: [user("two words")], ...format("array", true), max_tokens: 2 })).toBe(200);
    expect(await answer(CHAT, { messages: [user("called")], ...format("array", true) })).toBe(200);
  });

  it("is checked to be a JSON object where it is to be one, in each dialect", async () => {
    const asks = (said: string) =>
      [
        [CHAT, { messages: [user(said)], response_format: { type: "json_object" } }],
        ["/v1/responses", { input: said, text: { format: { type: "json_object" } } }],
        ["/api/chat", { messages: [user(said)], format: "json", stream: false }],
        ["/api/generate", { prompt: said, format: "json", stream: false }],
      ] as const;
    for (const [path, body] of asks("state")) expect(await answer(path, body)).toBe(200);
    for (const [path, body] of asks("two words")) {
      const { status, body: told } = await post(path, { model: "talk", ...body });
      expect([status, JSON.stringify(told)]).toEqual([400, expect.stringContaining("the answer is no JSON.")]);
    }
    for (const [path, body] of asks("[]")) expect(await answer(path, body)).toBe(400);
  });

  const streamed = async (path: string, body: object, mark?: string) =>
    (await postForParts((await serve()).httpUrl + path, { model: "talk", stream: true, ...body })).rest(mark);
  const misfit = "The answer does not fit the format that the request asks for: the answer is not of the type array.";

  it("ends a stream with an error in the form of its protocol, in place of its end", async () => {
    const { length: _, ...parts } = await streamed(CHAT, { messages, ...format("array", true) });
    const [first, text, error, none] = Object.values(parts).slice(0, 4);
    expect([first, text]).toEqual([expect.stringContaining("assistant"), expect.stringContaining("ended")]);
    const known = { message: misfit, type: "invalid_request_error", param: null, code: null };
    expect(JSON.parse(String(error).slice("data: ".length))).toEqual({ error: known });
    expect(none).toBe(undefined);
    const anthropic = await streamed("/v1/messages", {
      ...{ messages, max_tokens: 9, output_config: { format: { type: "json_schema", schema: schema("array") } } },
    });
    expect(anthropic.at(-1)).toMatch(/^event: error\ndata: /);
    expect(anthropic.at(-1)).toContain(misfit);
    const responses = await streamed("/v1/responses", {
      ...{
        input: "state",
        text: { format: { type: "json_schema", name: "s", strict: true, schema: schema("array") } },
      },
    });
    expect(responses.at(-1)).toMatch(/^event: error\ndata: /);
    expect(responses.at(-1)).toContain(misfit);
    for (const asked of [{ messages }, { prompt: "state" }]) {
      const path = "prompt" in asked ? "/api/generate" : "/api/chat";
      const lines = await streamed(path, { ...asked, format: schema("array") }, "\n");
      expect(JSON.parse(String(lines.at(-1)))).toEqual({ error: misfit });
    }
  });

  it("ends a stream as any other if it fits, ends early, calls a tool, or is of several choices that all fit", async () => {
    const strict = format("array", true);
    const asks = [
      { messages, ...format("object", true) },
      { messages, ...format("object", true), n: 2 },
      { messages, ...format("array", false) },
      { messages: [user("two words")], ...strict, max_tokens: 2 },
      { messages: [user("called")], ...strict },
    ];
    for (const asked of asks) expect((await streamed(CHAT, asked)).at(-1)).toBe("data: [DONE]");
    expect((await streamed(CHAT, { messages, ...strict, n: 2 })).at(-1)).toContain(misfit);
  });

  it("is not compared with a schema that is too large for that", async () => {
    const { response_format } = format("array", true);
    const large = { ...response_format.json_schema.schema, description: "x".repeat(64 * 1024) };
    const json_schema = { ...response_format.json_schema, schema: large };
    expect(await answer(CHAT, { messages, response_format: { ...response_format, json_schema } })).toBe(200);
  });

  it("is one in the other protocols, whose servers keep to theirs", async () => {
    const wrong = schema("array");
    const responses = {
      input: "state",
      text: { format: { type: "json_schema", name: "s", strict: true, schema: wrong } },
    };
    expect(await answer("/v1/responses", responses)).toBe(400);
    expect(await answer("/api/chat", { messages, format: wrong, stream: false })).toBe(400);
    expect(await answer("/api/generate", { prompt: "state", format: schema("object"), stream: false })).toBe(200);
    const output_config = { format: { type: "json_schema", schema: wrong } };
    expect(await answer("/v1/messages", { messages, output_config })).toBe(400);
  });
});
