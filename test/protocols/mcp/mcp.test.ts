import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, it, vi } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { authFiles, bearer, TOKENS } from "../../access/auth-fixture.ts";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder } from "../../helpers/text-model.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { textHooks } from "../openai/text-hooks.ts";
import { toolModels } from "./tool-hooks.ts";

const serve = shareServer(() => ({ mcp: true, models: toolModels() }));

const TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const MODERN = "2026-07-28";

async function post(body: unknown, headers: Record<string, string> = {}, path = "/mcp") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const url = (await serve()).httpUrl + path;
  const answer = await fetch(url, { method: "POST", body: text, headers: { ...TYPES, ...headers } });
  const told = await answer.text();
  return { status: answer.status, headers: answer.headers, body: told === "" ? undefined : JSON.parse(told) };
}

const message = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const call = (name: string, given: object = {}, more: object = {}) =>
  message("tools/call", { name, arguments: given, ...more });

async function result(body: object) {
  return (await post(body)).body.result;
}

describe("a handshake", () => {
  it.each([
    ["2025-11-25", "2025-11-25"],
    ["2024-11-05", "2024-11-05"],
    ["1999-01-01", "2025-11-25"],
  ])("for revision %s is answered with %s, tools alone and no session", async (asked, answered) => {
    const { body, headers } = await post(message("initialize", { protocolVersion: asked, capabilities: {} }));
    expect(body).toMatchObject({ jsonrpc: "2.0", id: 1 });
    expect(body.result).toMatchObject({ protocolVersion: answered, capabilities: { tools: {} } });
    expect(body.result.serverInfo.name).toBe("kserving");
    expect(headers.get("mcp-session-id")).toBeNull();
  });

  it("is followed by notifications, which are accepted, and pings", async () => {
    const accepted = await post({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([accepted.status, accepted.body]).toEqual([202, undefined]);
    expect((await post(message("ping", {}, "own"))).body).toEqual({ jsonrpc: "2.0", id: "own", result: {} });
  });
});

describe("scores of classes", () => {
  it("have the names of the likeliest beside them, in the answer and in its schema, as /predict has", async () => {
    const hooks: Hooks = {
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
      outputs: [{ name: "y", dtype: "float32", shape: [-1, 2], labels: ["cat", "dog"] }],
      process: ({ x }) => ({ y: x as Tensor }),
    };
    const { httpUrl: url } = await startServer({ stages: [{ driver: "null" }], hooks, mcp: true });
    const ask = async (body: object) => {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answer = await fetch(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
      return JSON.parse(await answer.text()).result;
    };
    const call = message("tools/call", { name: "default", arguments: { x: [[0.25, 0.75]] } });
    const named = [
      [
        { label: "dog", score: 0.75 },
        { label: "cat", score: 0.25 },
      ],
    ];
    expect((await ask(call)).structuredContent).toEqual({ y: [[0.25, 0.75]], y_classes: named });
    const [tool] = (await ask(message("tools/list"))).tools;
    expect(Object.keys(tool.outputSchema.properties)).toEqual(["y_classes", "y"]);
    expect(tool.outputSchema.required).toEqual(["y"]);
  });
});

describe("tools/list", () => {
  it("has every model whose inputs are known, with schemas", async () => {
    const { tools } = await result(message("tools/list"));
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(["the_sum", "media", "words", "bulk"]);
    const [sum, media, words] = tools;
    expect(sum).toMatchObject({ title: "the.sum", description: expect.stringContaining("the.sum: takes x: FP32") });
    expect(sum.inputSchema).toMatchObject({ type: "object", required: ["x"], additionalProperties: false });
    expect(sum.inputSchema.properties.x).toMatchObject({ type: "array", items: { items: { type: "number" } } });
    expect(sum.outputSchema).toMatchObject({ type: "object", required: ["sum"] });
    expect(media.description).toBe("Draws a dot, and plays it.");
    expect(media.inputSchema).toEqual({ type: "object", properties: {}, additionalProperties: false });
    expect(words.outputSchema).toMatchObject({ required: ["parts"] });
  });

  it("gives a model the same name whichever others are ready", async () => {
    const plain = toolModels()["the.sum"];
    const models = { "a.b": plain, a_b: plain, "x.c": plain };
    const { httpUrl } = await startServer({ mcp: true, allowControl: "local", models });
    const names = async () => {
      const body = JSON.stringify(message("tools/list"));
      const answer = await fetch(`${httpUrl}/mcp`, { method: "POST", headers: TYPES, body });
      const { result: listed } = (await answer.json()) as { result: { tools: { name: string; title: string }[] } };
      return Object.fromEntries(listed.tools.map(({ name, title }) => [title, name]));
    };
    const before = await names();
    expect(before).toEqual({ "a.b": expect.stringMatching(/^a_b_[0-9a-f]{8}$/), a_b: "a_b", "x.c": "x_c" });
    expect((await fetch(`${httpUrl}/v2/repository/models/a_b/unload`, { method: "POST" })).status).toBe(200);
    expect(await names()).toEqual({ "a.b": before["a.b"], "x.c": "x_c" });
  });

  it("comes in pages", async () => {
    const { body } = await post(message("tools/list", { cursor: "media" }));
    expect(body.result.tools.map(({ name }: { name: string }) => name)).toEqual(["words", "bulk"]);
    expect(body.result.nextCursor).toBeUndefined();
    for (const cursor of ["nowhere", 5])
      expect((await post(message("tools/list", { cursor }))).body.error).toMatchObject({ code: -32602 });
  });
});

describe("tools/call", () => {
  it("runs a model, and answers with values and their text", async () => {
    const answer = await result(call("the_sum", { x: [[1, 2], [3, 4.5]] })); // biome-ignore format: rows
    expect(answer).toEqual({
      content: [{ type: "text", text: '{"sum":[3.0,7.5]}' }],
      structuredContent: { sum: [3, 7.5] },
    });
  });

  it("takes a value with too few lists around it", async () => {
    expect(await result(call("the_sum", { x: [1, 2], note: "once" }))).toMatchObject({
      structuredContent: { sum: [3] },
    });
  });

  it("decodes large arguments in a thread, and takes small ones in a list of messages", async () => {
    const x = Array.from({ length: 20_000 }, () => [1, 2]);
    expect((await result(call("the_sum", { x }))).structuredContent.sum).toHaveLength(20_000);
    const both = await post([call("the_sum", { x: [[1, 2]] }), { ...call("the_sum", { x: [[2, 2]] }), id: 2 }]);
    expect(both.body[1]).toMatchObject({ id: 2, result: { structuredContent: { sum: [4] } } });
    const large = await post([call("the_sum", { x })]);
    expect([large.status, large.body.error.code]).toEqual([400, -32600]);
    expect(large.body.error.message).toContain("expected 65536 at most");
  });

  it("answers with pictures and sound as content, and integers as they are", async () => {
    const answer = await fetch(`${(await serve()).httpUrl}/mcp`, {
      ...{ method: "POST", headers: TYPES, body: JSON.stringify(call("media")) },
    });
    const text = await answer.text();
    expect(text).toContain('"count":9007199254740993');
    const { content, structuredContent } = JSON.parse(text).result;
    expect(content.slice(1)).toMatchObject([
      { type: "image", mimeType: "image/png" },
      { type: "audio", mimeType: "audio/wav" },
    ]);
    expect(structuredContent.picture).toEqual([
      expect.stringMatching(/^image\/png, \d+ bytes, image 1 of the content/),
    ]);
  });

  it("takes pictures and sounds for what they are where they are few, and no text for one", async () => {
    const many = await result(call("bulk", { kind: "many" }));
    expect([many.content.length, many.structuredContent.made[0]]).toEqual([1, expect.stringMatching(/^iVBOR/)]);
    const texts = await result(call("bulk", { kind: "texts" }));
    expect([texts.content.length, texts.structuredContent.made[0]]).toEqual([1, "ID3 and others"]);
    const mixed = await result(call("bulk", { kind: "mixed" }));
    expect(mixed.content[1].data).toMatch(/^iVBOR\w+/);
    expect(mixed.structuredContent.made[1]).toHaveLength(200_000);
  });

  it("refuses to answer with more than an assistant reads, by a result that says so", async () => {
    const { content } = await result(call("bulk", { kind: "large" }));
    expect(Buffer.from(content[1].data, "base64")).toHaveLength(3_000_067);
    for (const body of [call("bulk", { kind: "huge" }), call("words", { text: "many" })]) {
      const { isError, content: told } = await result(body);
      expect([isError, told[0].text]).toEqual([true, expect.stringContaining("more than 33554432 bytes as JSON")]);
    }
  });

  it("counts pictures and sounds over all parts of an answer", async () => {
    const { content, structuredContent } = await result(call("words", { text: "media" }));
    expect(content.slice(1).map(({ type }: { type: string }) => type)).toEqual(["image", "audio", "image"]);
    const told = structuredContent.parts.map(({ word }: { word: string[] }) => word[0]?.replace(/.*, /, ""));
    expect(told).toEqual(["image 1 of the content", "audio 1 of the content", "image 2 of the content", "media "]);
  });

  it.each([
    ["an argument that is not there", call("the_sum", { y: 1 }), "There is no argument y; expected x, note."],
    ["a missing argument", call("the_sum"), "The argument x is missing; expected x: FP32 [-1, 2]."],
    ["a wrong type", call("the_sum", { x: "one" }), '"x": the value is "one"; expected a number (float32).'],
    ["a wrong shape", call("the_sum", { x: [[1, 2, 3]] }), "[1,3]"],
    ["arguments that are a list", call("the_sum", [1]), "expected an object"],
    ["a hook that fails", call("words", { text: "a fail" }), "no such word"],
  ])("answers %s with a result that says so", async (_, body, text) => {
    const { status, body: answer } = await post(body);
    expect([status, answer.result.isError]).toEqual([200, true]);
    expect(answer.result.content[0].text).toContain(text);
  });

  it("refuses a tool that there is not by an error of the protocol", async () => {
    for (const name of ["nothing", "plain", "the.sum"])
      expect((await post(call(name))).body.error).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
  });

  it("joins the parts of an answer", async () => {
    expect(await result(call("words", { text: "so it is" }))).toEqual({
      content: [{ type: "text", text: "so it is " }],
      structuredContent: { parts: [{ word: ["so "] }, { word: ["it "] }, { word: ["is "] }] },
    });
    const long = await result(call("words", { text: "a ".repeat(300) }));
    expect(long.content).toEqual([{ type: "text", text: `${"a ".repeat(300)} ` }]);
  });

  it("tells of parts by events, with the answer as the last one", async () => {
    const { httpUrl } = await serve();
    const body = call("words", { text: "so be it" }, { _meta: { progressToken: "p" } });
    const events = await (await postForParts(`${httpUrl}/mcp`, body, TYPES)).rest();
    const told = events.map((event) => JSON.parse(event.replace(/^data: /, "")));
    const progress = (progress: number, message: string) => ({
      ...{ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "p", progress, message } },
    });
    expect(told.slice(0, 3)).toEqual([progress(1, "so "), progress(2, "be "), progress(3, "it ")]);
    expect(told[3]).toMatchObject({ id: 1, result: { content: [{ text: "so be it " }] } });
    const answer = await post(body, { accept: "application/json" });
    expect(answer.body.result.content[0].text).toBe("so be it ");
    expect((await post({ ...body, id: undefined })).status).toBe(202);
  });

  it("ends what runs when its client leaves", async () => {
    const { httpUrl } = await serve();
    const ended = async () => (await result(call("words", { text: "ended" }))).content[0].text;
    const before = Number(await ended());
    const body = call("words", { text: "endless" }, { _meta: { progressToken: 1 } });
    const leaving = new AbortController();
    const headers = TYPES;
    const answer = await fetch(`${httpUrl}/mcp`, {
      ...{ method: "POST", headers, body: JSON.stringify(body), signal: leaving.signal },
    });
    await answer.body?.getReader().read();
    leaving.abort();
    await vi.waitFor(async () => expect(Number(await ended())).toBeGreaterThan(before));
  });
});

describe("a request of a revision without a handshake", () => {
  const meta = (version: string = MODERN) => ({
    _meta: { "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} },
  });
  const routed = (method: string, more: object = {}) => ({
    ...{ "mcp-protocol-version": MODERN, "mcp-method": method, ...more },
  });

  it("is answered by itself", async () => {
    const { body } = await post(message("server/discover", meta()), routed("server/discover"));
    expect(body.result).toMatchObject({ resultType: "complete", supportedVersions: [MODERN], ttlMs: 0 });
    const listed = await post(message("tools/list", meta()), routed("tools/list"));
    expect(listed.body.result).toMatchObject({ cacheScope: "private", tools: { length: 4 } });
    const name = `=?base64?${Buffer.from("the_sum").toString("base64")}?=`;
    const headers = routed("tools/call", { "mcp-name": name });
    const { result: called } = (await post(call("the_sum", { x: [[1, 2]] }, meta()), headers)).body;
    expect(called).toMatchObject({ resultType: "complete", structuredContent: { sum: [3] } });
    expect(called._meta["io.modelcontextprotocol/serverInfo"].name).toBe("kserving");
  });

  it.each([
    ["without what it has to say", message("tools/list"), routed("tools/list"), 400, -32602],
    ["with another method in a header", message("tools/list", meta()), routed("ping"), 400, -32020],
    ["without headers", message("tools/list", meta()), {}, 400, -32020],
    [
      "with another tool in a header",
      call("media", {}, meta()),
      routed("tools/call", { "mcp-name": "x" }),
      400,
      -32020,
    ],
    ["for an unknown method", message("ping", meta()), routed("ping"), 404, -32601],
    ["for an unknown tool", call("x", {}, meta()), routed("tools/call", { "mcp-name": "x" }), 400, -32602],
    ["of an unknown revision", message("ping"), { "mcp-protocol-version": "2027-01-01" }, 400, -32022],
    ["as a list", [message("tools/list", meta())], routed("tools/list"), 400, -32600],
  ])("%s is refused", async (_, body, headers, status, code) => {
    const answer = await post(body, headers as Record<string, string>);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });
});

describe("a message", () => {
  it("of an unknown revision is told those that are of use to it", async () => {
    const headers = { "mcp-protocol-version": "2027-01-01" };
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2027-01-01" };
    const without = await post(message("server/discover", { _meta }), headers);
    expect(without.body.error.data).toEqual({ supported: [MODERN], requested: "2027-01-01" });
    const old = await post(message("ping"), headers);
    expect(old.body.error.data.supported).toContain("2025-11-25");
  });

  it.each([
    ["no JSON", "{", 400, -32700],
    ["empty", "", 400, -32700],
    ["no object", "5", 400, -32600],
    ["of another version", { jsonrpc: "1.0", id: 3, method: "ping" }, 400, -32600],
    ["with an id that is an object", { jsonrpc: "2.0", id: {}, method: "ping" }, 400, -32600],
    ["with an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }, 400, -32600],
    ["without a method", { jsonrpc: "2.0", id: 3 }, 400, -32600],
    ["with params that are a list", { jsonrpc: "2.0", id: 3, method: "ping", params: [] }, 400, -32600],
    ["an empty list", [], 400, -32600],
    ["of an unknown method", message("resources/list"), 200, -32601],
    ["a call without a name", message("tools/call"), 200, -32602],
  ])("that is %s is refused", async (_, body, status, code) => {
    const answer = await post(body);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  const nulls = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]));
  const META = ["progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo"];
  const NULLS: readonly (readonly [what: string, plain: object, nulled: object])[] = [
    ["params of a ping", message("ping"), { ...message("ping"), params: null }],
    ["params of a list", message("tools/list"), { ...message("tools/list"), ...nulls("params", "result", "error") }],
    ["the cursor of a list", message("tools/list"), message("tools/list", nulls("cursor", "_meta"))],
    ["members of _meta", message("tools/list"), message("tools/list", { _meta: nulls(...META) })],
    ["arguments", call("media"), message("tools/call", { name: "media", arguments: null, _meta: null })],
    ["those of a handshake", message("initialize"), message("initialize", nulls("protocolVersion", "clientInfo"))],
    [
      "those of a notification",
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "notifications/initialized", ...nulls("id", "params", "result", "error") },
    ],
    [
      "those of an answer to the server",
      { jsonrpc: "2.0", id: 7, result: {} },
      { jsonrpc: "2.0", id: 7, result: {}, ...nulls("method", "params", "error") },
    ],
    ["the result of such an answer", { jsonrpc: "2.0", id: 7, result: {} }, { jsonrpc: "2.0", id: 7, result: null }],
    ["the id of an answer of failure", { jsonrpc: "2.0", error: {} }, { jsonrpc: "2.0", id: null, error: {} }],
  ];

  it.each(NULLS)("may have null where a member may be left out: %s", async (_, plain, nulled) => {
    const expected = await post(plain);
    expect([200, 202]).toContain(expected.status);
    expect(expected.body?.error).toBeUndefined();
    const { status, body } = await post(nulled);
    expect({ status, body }).toEqual({ status: expected.status, body: expected.body });
  });

  it("may be one of a list in the first revisions, and not in later ones", async () => {
    const list = [message("ping"), { jsonrpc: "2.0", method: "notifications/x" }, { jsonrpc: "1.0", id: 2 }];
    const { body } = await post(list, { "mcp-protocol-version": "2025-03-26" });
    expect(body).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32600 } },
    ]);
    expect((await post(list, { "mcp-protocol-version": "2025-06-18" })).status).toBe(400);
    expect((await post([{ jsonrpc: "2.0", method: "notifications/x" }])).status).toBe(202);
    const many = await post(Array.from({ length: 65 }, () => message("ping")));
    expect([many.status, many.body.error.code]).toEqual([400, -32600]);
  });

  it("may answer the server, which has asked nothing", async () => {
    expect((await post({ jsonrpc: "2.0", id: 7, result: {} })).status).toBe(202);
  });
});

describe("a request", () => {
  it("of a foreign page is refused, and so is one for a name that is not this machine's", async () => {
    const { status, body } = await post(message("ping"), { origin: "https://evil.example" });
    expect([status, body.id, body.error.code]).toEqual([403, null, -32000]);
    const { httpUrl } = await serve();
    const { host } = new URL(httpUrl);
    expect((await post(message("ping"), { origin: `http://${host}` })).status).toBe(200);
    const foreign = `evil.example:${new URL(httpUrl).port}`;
    const asked = request(`${httpUrl}/mcp`, {
      ...{ method: "POST", headers: { ...TYPES, host: foreign, origin: `http://${foreign}` } },
    });
    asked.end(JSON.stringify(message("ping")));
    const [rebound] = await once(asked, "response");
    rebound.resume();
    expect(rebound.statusCode).toBe(403);
  });

  it("of another media type is refused", async () => {
    expect((await post(message("ping"), { "content-type": "text/plain" })).status).toBe(415);
    expect((await post(message("ping"), { accept: "text/html" })).status).toBe(406);
  });

  it("other than POST is refused", async () => {
    const { httpUrl } = await serve();
    for (const method of ["GET", "DELETE"]) {
      const answer = await fetch(`${httpUrl}/mcp`, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    }
    expect((await post(message("ping"), {}, "/mcp/other")).status).toBe(404);
  });

  it("sees the models that its caller may name", async () => {
    const { media, words } = toolModels();
    const { httpUrl } = await startServer({ mcp: true, models: { "team-a": media, words }, auth: await authFiles() });
    const ask = async (body: object, headers: Record<string, string>) => {
      const text = JSON.stringify(body);
      const answer = await fetch(`${httpUrl}/mcp`, { method: "POST", headers: { ...TYPES, ...headers }, body: text });
      return { status: answer.status, body: JSON.parse(await answer.text()) };
    };
    const own = { authorization: bearer(TOKENS.team) };
    const { body } = await ask(message("tools/list"), own);
    expect(body.result.tools.map(({ name }: { name: string }) => name)).toEqual(["team-a"]);
    expect((await ask(call("team-a"), own)).body.result.isError).toBeUndefined();
    expect((await ask(call("words", { text: "a" }), own)).body.error).toMatchObject({ code: -32602 });
    expect(await ask(message("tools/list"), {})).toMatchObject({
      status: 401,
      body: { id: null, error: { code: -32000 } },
    });
  });

  it.skipIf(missingListeners())("is answered in parts by a server with two threads that listen", async () => {
    const { httpUrl } = await startServer({ mcp: true, listeners: 2, models: { words: toolModels().words } });
    const body = call("words", { text: "so" }, { _meta: { progressToken: 1 } });
    const events = await (await postForParts(`${httpUrl}/mcp`, body, TYPES)).rest();
    expect(events.map((event) => JSON.parse(event.replace(/^data: /, "")).id)).toEqual([undefined, 1]);
  });

  it.each([
    ["POST", "/mcp", "--mcp"],
    ["GET", "/mcp/", "--mcp"],
    ["GET", "/ui/other", "--ui"],
    ["GET", "/docs", "--ui"],
  ])(
    "is not found where it is off, like the page, with the flag that turns it on: %s %s",
    async (method, path, flag) => {
      const { httpUrl } = await startServer({ models: { plain: { driver: "null" } }, ui: false });
      const off = await fetch(httpUrl + path, { method, headers: TYPES });
      expect([off.status, ((await off.json()) as { error: string }).error]).toEqual([
        404,
        `There is no ${method} ${path} here, as this server runs without ${flag}; start it with ${flag}.`,
      ]);
    },
  );
});

it("tells that a tool changes nothing of models alone whose driver says so", async () => {
  const driver = `
    const spec = { name: "input_ids", dtype: "int64", shape: [-1] };
    const signatures = { serving_default: { inputs: [spec], outputs: [spec] } };
    export default {
      name: "own",
      options: {},
      load: async () => ({ signatures, predict: async (inputs) => inputs, close: async () => {} }),
    };`;
  const folder = tempFolder({ "own.mjs": driver, "model.onnx": toyEncoder({ table: tableOf({}) }) });
  const { httpUrl } = await startServer({
    mcp: true,
    models: { pure: { path: `${folder}/model.onnx` }, own: { driver: `${folder}/own.mjs`, path: folder } },
  });
  const body = JSON.stringify(message("tools/list"));
  const answer = await fetch(`${httpUrl}/mcp`, { method: "POST", headers: TYPES, body });
  const { result: listed } = JSON.parse(await answer.text());
  expect(listed.tools.map(({ name, annotations }: Record<string, unknown>) => [name, annotations])).toEqual([
    ["pure", { readOnlyHint: true, openWorldHint: false }],
    ["own", undefined],
  ]);
});

describe("functions of hooks about texts", () => {
  const serveTalk = shareServer(() => ({
    mcp: true,
    models: { talk: { driver: "null", hooks: textHooks() }, "talk.two": { driver: "null", hooks: textHooks() } },
  }));

  async function send(body: object, server = serveTalk()) {
    const { httpUrl } = await server;
    const answer = await fetch(`${httpUrl}/mcp`, { method: "POST", headers: TYPES, body: JSON.stringify(body) });
    return JSON.parse(await answer.text());
  }

  it("are tools, beside those of models that take anything", async () => {
    const { tools } = (await send(message("tools/list"))).result;
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(
      ["talk", "talk_two"].flatMap((name) => [`${name}_chat`, `${name}_embed`, `${name}_rerank`]),
    );
    expect(tools[0]).toMatchObject({
      ...{ title: "talk: chat", description: "Answers a message with a text." },
      inputSchema: { required: ["message"], additionalProperties: false },
      outputSchema: { required: ["text"] },
    });
    expect(tools[0].annotations).toBeUndefined();
  });

  it("answer with texts, vectors and scores", async () => {
    expect((await send(call("talk_chat", { message: "two words" }))).result).toEqual({
      content: [{ type: "text", text: "two words " }],
      structuredContent: { text: "two words " },
    });
    const roles = await send(call("talk_chat", { message: "request", system: "be brief" }));
    expect(JSON.parse(roles.result.structuredContent.text)).toMatchObject({
      ...{ roles: ["system", "user"], tools: [], toolChoice: "none", responseFormat: { type: "text" } },
    });
    expect((await send(call("talk_two_embed", { texts: ["a", "bcd"] }))).result.structuredContent).toEqual({
      embeddings: [
        [1, 0.1, -2.5],
        [3, 0.1, -2.5],
      ],
    });
    const ranked = await send(call("talk_rerank", { query: "b", documents: ["a", "b"] }));
    expect(ranked.result.structuredContent).toEqual({ scores: [0.25, 0.75] });
  });

  it("take null for an argument without a value, as assistants send it, where one may be left out", async () => {
    const { result: answer } = await send(call("talk_chat", { message: "hi", system: null }));
    expect(answer.structuredContent).toEqual({ text: "hi " });
    const { result: none } = await send(call("talk_chat", { message: null }));
    expect(none).toMatchObject({ isError: true });
  });

  it("tell of the parts of a text as they are made", async () => {
    const body = call("talk_chat", { message: "so be it" }, { _meta: { progressToken: "p" } });
    const events = await (await postForParts(`${(await serveTalk()).httpUrl}/mcp`, body, TYPES)).rest();
    const told = events.map((event) => JSON.parse(event.replace(/^data: /, "")));
    expect(told.slice(0, 3).map(({ params }) => [params.progress, params.message])).toEqual([
      [1, "so "],
      [2, "be "],
      [3, "it "],
    ]);
    expect(told.at(-1)).toMatchObject({ id: 1, result: { structuredContent: { text: "so be it " } } });
  });

  it.each([
    ["no message", call("talk_chat"), "The argument message is missing"],
    ["a message that is none", call("talk_chat", { message: [] }), "The argument message is empty"],
    ["no texts", call("talk_embed", { texts: [] }), "The argument texts is empty; expected one text at least"],
    ["an argument of another name", call("talk_rerank", { query: "b", texts: ["a"] }), "There is no argument texts"],
    [
      "too many texts",
      call("talk_embed", { texts: Array(100_000).fill("") }),
      "has 100000 texts; expected 2048 at most",
    ],
    ["two messages", call("talk_chat", { message: ["a", "b"] }), "The argument message has 2 texts; expected one"],
    ["two systems", call("talk_chat", { message: "a", system: ["a", "b"] }), "The argument system has 2 texts"],
    ["two queries", call("talk_rerank", { query: ["a", "b"], documents: ["a"] }), "The argument query has 2 texts"],
    ["too much text", call("talk_chat", { message: "x".repeat(5_000_000) }), "expected 4194304 at most"],
    ["a function that fails", call("talk_chat", { message: "fail" }), "The hook chat failed: no words"],
  ])("answer %s with a result that says so", async (_, body, text) => {
    const { result: answer } = await send(body);
    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(text) }] });
  });

  it("are no unknown tools while their model is loaded again", async () => {
    const models = { talk: { driver: "null", hooks: textHooks() } };
    const server = startServer({ mcp: true, allowControl: "local", models });
    const { httpUrl } = await server;
    const control = async (verb: string) =>
      (await fetch(`${httpUrl}/v2/repository/models/talk/${verb}`, { method: "POST" })).status;
    expect(await control("unload")).toBe(200);
    const away = await send(call("talk_chat", { message: "hi" }), server);
    expect(away.result).toEqual({
      ...{ isError: true, content: [{ type: "text", text: "The model talk does not answer now: unloaded." }] },
    });
    const none = await send(call("talk_speak"), server);
    expect(none.error).toEqual({ code: -32602, message: "Unknown tool: talk_speak" });
    expect(await control("load")).toBe(200);
    const back = await send(call("talk_chat", { message: "hi" }), server);
    expect(back.result.structuredContent).toEqual({ text: "hi " });
  });
});
