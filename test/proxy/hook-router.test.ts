import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { RawRoute, ServerOptions } from "../../src/index.ts";
import { RequestMetrics } from "../../src/observability/metrics/request-metrics.ts";
import { authFiles, bearer, TOKENS } from "../access/auth-fixture.ts";
import { createRecordingLogger } from "../examples/recording-logger.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

function serve(rawRequest: RawRoute | readonly RawRoute[], more: Partial<ServerOptions> = {}) {
  return startServer({ stages: [{ driver: "onnx", path: HALF }], hooks: { rawRequest }, http: {}, ...more });
}

const NULL = { stages: [{ driver: "null" }] };

/** A route that tells what it got. */
const TELL: RawRoute = {
  path: "/tell",
  methods: ["GET", "PUT"],
  answer: ({ method, path, query, headers, contentType, accept, body }) => ({
    status: 207,
    body: { method, path, query: [...query], headers, contentType, accept, body: body.toString() },
  }),
};

async function ask(url: string | undefined, init: RequestInit = {}) {
  const answer = await fetch(`${url}`, init);
  return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
}

describe("a route that hooks declare", () => {
  it("gets what was sent, without credentials, and answers with its own status, type and body", async () => {
    const server = await serve(TELL, NULL);
    const headers = { authorization: "Bearer x", cookie: "a=b", "content-type": "a/b", accept: "c/d", "x-own": "e" };
    const { status, type, text } = await ask(`${server.httpUrl}/tell?a=1&a=2`, { method: "PUT", body: "né", headers });
    const { headers: given, ...told } = JSON.parse(text) as { headers: Record<string, string> };
    expect({ status, type, ...told }).toEqual({
      ...{ status: 207, type: "application/json", method: "PUT", path: "/tell", body: "né" },
      ...{ contentType: "a/b", accept: "c/d" },
      query: [
        ["a", "1"],
        ["a", "2"],
      ],
    });
    expect([given["x-own"], given.authorization, given.cookie]).toEqual(["e", undefined, undefined]);
  });

  it("runs in a hook thread, where it calls the model, and its headers and request id are sent", async () => {
    const file = join(tempFolder(), "hooks.ts");
    writeFileSync(
      file,
      `export const rawRequest = { path: "/half", async answer(request, ctx) {
         ctx.response.metadata["x-own"] = "yes";
         const { y } = await ctx.drivers[0].predict({ x: request.json() });
         return { body: Buffer.from(y.data.map(String).join(";")), contentType: "text/x-own" };
       } };`,
    );
    const server = await startServer({ stages: [{ driver: "onnx", path: HALF }], hooks: file, http: {} });
    const answer = await fetch(`${server.httpUrl}/half`, {
      method: "POST",
      body: "[1,2]",
      headers: { "x-request-id": "r1" },
    });
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      "text/x-own",
      "2.5;3",
    ]);
    expect([answer.headers.get("x-own"), answer.headers.get("x-request-id")]).toEqual(["yes", "r1"]);
    const bad = await ask(`${server.httpUrl}/half`, { method: "POST", body: "[1" });
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining("The body is not JSON")]);
  });

  it("wins over a protocol's, which keeps the methods that it does not have, and the log says so", async () => {
    const { log, events } = createRecordingLogger();
    const answer = () => ({ body: "mine" });
    const server = await serve(
      [
        { path: "/invocations", answer },
        { path: "/ping", methods: ["POST"], answer },
      ],
      { ...NULL, log },
    );
    expect(await ask(`${server.httpUrl}/invocations`, { method: "POST", body: "1" })).toMatchObject({ text: "mine" });
    expect(await ask(`${server.httpUrl}/ping`)).toMatchObject({ status: 200, text: "" });
    expect(events.map(([text]) => text)).toContain(
      "the hooks of the model default answer POST /invocations (in place of sagemaker), POST /ping (in place of sagemaker)",
    );
  });

  it("answers HEAD by GET, and refuses other methods with those that it has", async () => {
    const server = await serve(TELL, NULL);
    expect(await ask(`${server.httpUrl}/tell`, { method: "HEAD" })).toMatchObject({ status: 207, text: "" });
    const refused = await fetch(`${server.httpUrl}/tell`, { method: "DELETE" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT"]);
    expect(await ask(`${server.httpUrl}/telly`)).toMatchObject({ status: 404 });
  });

  it.each([
    ["nothing", undefined, "The hook rawRequest answered undefined (is a return, or an await, missing?)"],
    ["a status that is none", { status: 99 }, "The hook rawRequest answered the status 99"],
    ["a status of text", { status: "200" }, "The hook rawRequest answered the status 200"],
    ["a number", { body: 5 }, "The body that the hook rawRequest answered is a number"],
    ["what JSON has no word for", { body: { a: new Map() } }, "The body that the hook rawRequest answered cannot be"],
    ["a line break in the type", { contentType: "a\r\nb" }, "The hook rawRequest answered no media type"],
    ["a misspelt member", { statuss: 1 }, "The hook rawRequest answered the member statuss; expected status"],
  ])("that answers %s is an internal error", async (_, answered, message) => {
    const server = await serve({ path: "/bad", answer: () => answered as never }, NULL);
    const { status, text } = await ask(`${server.httpUrl}/bad`, { method: "POST", body: "" });
    expect([status, text]).toEqual([500, expect.stringContaining(message)]);
  });

  it("is limited as inference is: by the size of its body, its deadline and the pages that may call it", async () => {
    const answer = () => new Promise<never>(() => {});
    const server = await serve({ path: "/slow", answer }, { ...NULL, maxMessageBytes: 1000 });
    const url = `${server.httpUrl}/slow`;
    expect(await ask(url, { method: "POST", body: "x".repeat(1001) })).toMatchObject({ status: 413 });
    const late = { method: "POST", body: "", headers: { "x-request-timeout-ms": "20" } };
    expect(await ask(url, late)).toMatchObject({ status: 504 });
    const page = { method: "POST", body: "", headers: { origin: "https://else.where" } };
    expect(await ask(url, page)).toMatchObject({ status: 403 });
  });

  it("is for callers that may run its model, and tells hooks no token", async () => {
    const server = await serve(TELL, { ...NULL, auth: await authFiles() });
    const url = `${server.httpUrl}/tell`;
    expect(await ask(url)).toMatchObject({ status: 401 });
    const known = await ask(url, { headers: { authorization: bearer(TOKENS.user) } });
    expect([known.status, known.text.includes(TOKENS.user)]).toEqual([207, false]);
  });

  it("is counted under its own name", async () => {
    const server = await serve(TELL, NULL);
    await ask(`${server.httpUrl}/tell`);
    const { text } = await ask(`${server.httpUrl}/metrics`);
    expect(text).toMatch(/kserving_requests_total\{[^}]*method="GET \/tell"[^}]*\} 1/);
  });

  it("has one name for all of its requests: metrics would keep each", async () => {
    const add = vi.spyOn(RequestMetrics.prototype, "add");
    onTestFinished(() => add.mockRestore());
    const server = await serve(TELL, { ...NULL, listeners: 1 });
    for (const method of ["GET", "GET", "HEAD", "HEAD"]) await fetch(`${server.httpUrl}/tell`, { method });
    await expect.poll(() => add.mock.calls.length).toBe(4);
    expect(new Set(add.mock.calls.map(([{ route }]) => route)).size).toBeLessThanOrEqual(2);
  });

  it("that answers with an error is a failed request in the statistics", async () => {
    const answer = ({ query }: Parameters<RawRoute["answer"]>[0]) => ({
      status: Number(query.get("status")),
      body: "",
    });
    const server = await serve({ path: "/say", methods: ["GET"], answer }, NULL);
    for (const status of [200, 204, 503]) await ask(`${server.httpUrl}/say?status=${status}`);
    const { text } = await ask(`${server.httpUrl}/v2/models/default/stats`);
    const counts = { success: { count: 2 }, fail: { count: 1 } };
    expect(JSON.parse(text)).toMatchObject({ model_stats: [{ inference_stats: counts }] });
  });

  it("of two models is an error that names both", async () => {
    const hooks = { rawRequest: TELL };
    const models = { one: { driver: "null", hooks }, two: { driver: "null", hooks } };
    await expect(startServer({ models, failFast: true, loadRetries: 0 })).rejects.toThrow(
      /The hooks of the model (one|two) declare the route GET \/tell, which those of the model (one|two) have already/,
    );
  });
});

describe("the log", () => {
  it("has the functions that answer requests about texts, once for each change of them", async () => {
    const { log, events } = createRecordingLogger();
    const file = join(tempFolder(), "hooks.ts");
    const helper = "export const process = (inputs) => inputs; export const embed = () => [[1]];";
    writeFileSync(file, helper);
    const server = await startServer({ models: { own: { driver: "null", hooks: file } }, http: {}, log });
    const told = () => events.map(([text]) => text).filter((text) => text.startsWith("the hooks of the model own"));
    const start = "the hooks of the model own answer requests about texts and media by";
    expect(told()).toEqual([`${start} embed`]);
    await server.unload("own");
    await server.load("own");
    await server.reloadHooks();
    writeFileSync(file, `${helper} export const chat = () => "hi";`);
    await server.reloadHooks();
    expect(told().slice(1)).toEqual([`${start} chat, embed`]);
  });
});

describe("a changed hook file", () => {
  const route = (path: string) => `export const rawRequest = { path: "${path}", answer: () => ({ body: "${path}" }) };`;

  it("changes the routes, which the log has at once, and leaves them where it takes another model's", async () => {
    const { log, events } = createRecordingLogger();
    const file = join(tempFolder(), "hooks.ts");
    writeFileSync(file, route("/one"));
    const models = {
      first: { driver: "null", hooks: file },
      other: { driver: "null", hooks: { rawRequest: { path: "/taken", answer: () => ({ body: "other" }) } } },
    };
    const server = await startServer({ models, http: {}, log });
    const post = (path: string) => ask(`${server.httpUrl}${path}`, { method: "POST", body: "" });
    expect(await post("/one")).toMatchObject({ text: "/one" });
    writeFileSync(file, route("/two"));
    await server.reloadHooks();
    expect(events.map(([text]) => text)).toContain("the hooks of the model first answer POST /two");
    expect([(await post("/one")).status, (await post("/two")).text]).toEqual([404, "/two"]);
    writeFileSync(file, route("/taken"));
    await expect(server.reloadHooks()).rejects.toThrow("which those of the model other have already");
    expect([(await post("/taken")).text, (await post("/two")).text]).toEqual(["other", "/two"]);
  });
});

it("routes of hooks are not served at the address for administration", async () => {
  const server = await serve(
    { path: "/metrics", methods: ["GET"], answer: () => ({ body: "mine" }) },
    { ...NULL, admin: {} },
  );
  expect(await ask(`${server.httpUrl}/metrics`)).toMatchObject({ text: "mine" });
  expect((await ask(`${server.adminUrl}/metrics`)).text).toContain("kserving_requests_total");
});
