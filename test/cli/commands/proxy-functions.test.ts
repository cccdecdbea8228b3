import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { CallScope, runInScope } from "../../../src/access/call-scope.ts";
import { readRules } from "../../../src/access/rules/access-rules.ts";
import { ProxyTargets, type ProxyTargetsOptions } from "../../../src/cli/commands/proxy-targets.ts";
import { leaseFor } from "../../../src/protocols/text/lease-for.ts";
import { GuardedService } from "../../../src/server/guarded-service.ts";
import { PROTOCOLS } from "../../../src/server/protocols.ts";
import { createServer } from "../../../src/server/server.ts";
import { parseYaml } from "../../../src/tensor/codecs/config/yaml.ts";
import { authFiles, bearer, TOKENS } from "../../access/auth-fixture.ts";
import { ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";
import { textHooks } from "../../protocols/openai/text-hooks.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

const MEDIA = `
  export const transcribe = ({ audio, language }) => ({ text: audio.bytes.length + " bytes", language });
  export async function* speak({ text }) { for (const word of text.split(" ")) yield Buffer.from(word); }
  export const generateImage = ({ count }) => Array.from({ length: count }, () => Buffer.from("ffd8ff00", "hex"));
`;

/** A pipeline with an input that has a value of its own. */
const SCALED = `
  const tensor = (name, more) => ({ name, dtype: "float32", shape: [], ...more });
  export const inputs = [
    tensor("x"),
    tensor("scale", { default: { dtype: "float32", shape: [], data: new Float32Array([3]) } }),
  ];
  export const outputs = [tensor("y")];
  export const process = ({ x, scale }) => ({ y: x.data[0] * scale.data[0] });
`;

const mediaHooks = () => `${tempFolder({ "hooks.mjs": MEDIA })}/hooks.mjs`;
/** A folder with a model that has vectors for texts, and no hooks. */
function encoder(): string {
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 2 };
  const model = toyEncoder({ table: tableOf({ hello: [1, 2], world: [3, 4] }) });
  const folder = tempFolder({ ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model });
  return `${folder}/model.onnx`;
}

const served = shareServer(() => ({
  models: {
    talk: { stages: [{ driver: "null" }], hooks: textHooks() },
    media: { stages: [{ driver: "null" }], hooks: mediaHooks() },
    plain: { stages: [{ driver: "null" }] },
    encoder: { path: encoder() },
  },
}));

function startScaled() {
  const hooks = `${tempFolder({ "hooks.mjs": SCALED })}/hooks.mjs`;
  return startServer({ models: { scaled: { stages: [{ driver: "null" }], hooks } }, mcp: true });
}

/** The URL of a proxy before a server. */
async function openProxy(grpcAddress: string, options: Partial<ProxyTargetsOptions> = {}): Promise<string> {
  const targets = new ProxyTargets({ grpcAddress, allowProxyHeaders: false, forwardAuthorization: false, ...options });
  onTestFinished(() => targets.close());
  return (await serveHttp(targets.toService(), { mcp: true })).url;
}

/** Members that differ between two answers to the same request. */
const OWN = /"(?:id|created|created_at|[a-z_]*duration|item_id|call_id)":(?:"[^"]*"|[\d.]+)|call_[0-9a-f]{32}/g;

async function ask(url: string, path: string, body?: object | FormData) {
  const given = body instanceof FormData ? body : JSON.stringify(body);
  const headers = path === "/mcp" ? { "content-type": "application/json" } : undefined;
  const answer = await fetch(
    url + path,
    body === undefined ? {} : { method: "POST", body: given, ...(headers && { headers }) },
  );
  const bytes = Buffer.from(await answer.arrayBuffer());
  const told = { status: answer.status, type: answer.headers.get("content-type"), own: answer.headers.get("x-own") };
  return { ...told, text: bytes.toString("latin1").replaceAll(OWN, "") };
}

const chat = (text: string, more: object = {}) => ({
  model: "talk",
  messages: [{ role: "user", content: text }],
  ...more,
});

function sound(): FormData {
  const form = new FormData();
  form.set("model", "media");
  form.set("language", "lv");
  form.set("file", new File([new Uint8Array(200_000)], "a.wav"));
  return form;
}

const TOOL = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const REQUESTS: readonly (readonly [path: string, body: () => object | FormData, status?: number])[] = [
  ["/v1/chat/completions", () => chat("one two")],
  ["/v1/chat/completions", () => chat("one two", { stream: true, stream_options: { include_usage: true } })],
  ["/v1/chat/completions", () => chat("one two", { n: 2 })],
  ["/v1/chat/completions", () => chat("weather", { tools: [TOOL], stream: true })],
  ["/v1/chat/completions", () => chat("fail"), 500],
  ["/v1/chat/completions", () => chat("too long"), 400],
  ["/v1/chat/completions", () => chat("late", { stream: true })],
  ["/v1/chat/completions", () => chat("nothing")],
  ["/v1/chat/completions", () => chat("x".repeat(300_000))],
  ["/v1/completions", () => ({ model: "talk", prompt: "a" })],
  ["/v1/embeddings", () => ({ model: "talk", input: ["a", "bc"] })],
  ["/v1/embeddings", () => ({ model: "encoder", input: ["hello world", "hello"] })],
  ["/v1/rerank", () => ({ model: "talk", query: "a", documents: ["a", "b"] })],
  ["/v1/audio/transcriptions", sound],
  ["/v1/audio/speech", () => ({ model: "media", input: "one two", voice: "v", response_format: "wav" })],
  ["/v1/images/generations", () => ({ model: "media", prompt: "p", n: 2 })],
  ["/v1/chat/completions", () => ({ ...chat("a"), model: "plain" }), 404],
  ["/v1/chat/completions", () => ({ ...chat("a"), model: "tlk" }), 404],
  ["/v1/messages", () => chat("one two", { max_tokens: 5 })],
  ["/v1/messages", () => chat("late", { max_tokens: 5, stream: true })],
  ["/api/chat", () => chat("one two")],
  ["/api/chat", () => ({ ...chat("late"), model: "talk:latest" })],
  ["/api/generate", () => ({ model: "talk", prompt: "one two", stream: false })],
  ["/api/embed", () => ({ model: "encoder:latest", input: "hello" })],
  ["/api/show", () => ({ model: "talk" })],
];

describe("kserving proxy", () => {
  it.each(REQUESTS.map(([path, body, status = 200]) => [path, body, status] as const))(
    "answers %s as the server behind it does (%#)",
    async (path, body, status) => {
      const { httpUrl, grpcAddress } = await served();
      const url = await openProxy(grpcAddress);
      const direct = await ask(httpUrl, path, body());
      expect(await ask(url, path, body())).toEqual(direct);
      expect(direct.status).toBe(status);
    },
  );

  it("lists the models of the server behind it, Ollama's those alone that answer requests about texts", async () => {
    const { grpcAddress } = await served();
    const url = await openProxy(grpcAddress);
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: readonly { id: string }[] };
    expect(data.map(({ id }) => id).sort()).toEqual(["encoder", "media", "plain", "talk"]);
    const { models } = (await (await fetch(`${url}/api/tags`)).json()) as { models: readonly { name: string }[] };
    expect(models.map(({ name }) => name).sort()).toEqual(["encoder:latest", "talk:latest"]);
  });

  it("has the functions as tools of assistants, with parts as progress", async () => {
    const { grpcAddress } = await served();
    const url = `${await openProxy(grpcAddress)}/mcp`;
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const send = async (method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      return (await fetch(url, { method: "POST", body, headers })).text();
    };
    const { tools } = JSON.parse(await send("tools/list", {})).result;
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["encoder", "talk_chat", "talk_embed", "talk_rerank"]));
    expect(names).not.toContain("media_chat");
    const told = await send("tools/call", {
      ...{ name: "talk_chat", arguments: { message: "one two" } },
      _meta: { progressToken: 7 },
    });
    expect(told).toContain('"message":"one "');
    expect(told).toContain("one two ");
    expect(JSON.parse(await send("tools/call", { name: "media_chat", arguments: {} })).error.message).toContain(
      "Unknown tool",
    );
  });

  it("has the tools of the server behind it, with inputs that may be left out", async () => {
    const { grpcAddress, httpUrl } = await startScaled();
    const url = await openProxy(grpcAddress);
    const send = async (at: string, method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const headers = { "content-type": "application/json" };
      return JSON.parse(await (await fetch(`${at}/mcp`, { method: "POST", body, headers })).text()).result;
    };
    const result = await send(url, "tools/list", {});
    expect(result).toEqual(await send(httpUrl, "tools/list", {}));
    expect(result.tools[0].inputSchema).toMatchObject({ required: ["x"], properties: { scale: {} } });
    const run = async (given: object) => {
      return (await send(url, "tools/call", { name: "scaled", arguments: given })).structuredContent;
    };
    expect([await run({ x: 2 }), await run({ x: 2, scale: null })]).toEqual([{ y: 6 }, { y: 6 }]);
    expect(await run({ x: 2, scale: 5 })).toEqual({ y: 10 });
  });

  it("counts a list of models as a request under way", async () => {
    const { grpcAddress } = await served();
    const url = await openProxy(grpcAddress, { maxQueue: 0 });
    const { status, text } = await ask(url, "/v1/models");
    expect([status, text]).toEqual([503, expect.stringContaining("0 requests are under way already (--max-queue)")]);
  });

  it("greets assistants without its server, which it needs for tools alone", async () => {
    const url = await openProxy("127.0.0.1:1");
    const send = (method: string, params: object) => ask(url, "/mcp", { jsonrpc: "2.0", id: 1, method, params });
    const greeted = await send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} });
    expect([greeted.status, greeted.text]).toEqual([200, expect.stringContaining('"serverInfo"')]);
    expect(await send("ping", {})).toMatchObject({ status: 200 });
    expect(await send("tools/list", {})).toMatchObject({ status: 503 });
  });

  it("streams over HTTP/2 too", async () => {
    const { grpcAddress } = await served();
    const session = connect(await openProxy(grpcAddress));
    onTestFinished(() => session.close());
    const stream = session.request({ ":method": "POST", ":path": "/v1/chat/completions" });
    stream.end(JSON.stringify(chat("one two", { stream: true })));
    let text = "";
    stream.setEncoding("utf8").on("data", (piece) => {
      text += piece;
    });
    await once(stream, "end");
    expect(text).toContain('"content":"one "');
    expect(text).toContain("data: [DONE]");
  });

  it("ends a function whose reader leaves, or whose time is up", async () => {
    const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: textHooks() });
    const url = await openProxy(grpcAddress);
    const body = { messages: [{ role: "user", content: "endless" }], stream: true };
    const ended = async () => {
      const state = await ask(httpUrl, "/v1/chat/completions", { messages: [{ role: "user", content: "state" }] });
      return Number(/ended\\":(\d)/.exec(state.text)?.[1]);
    };
    const parts = await postForParts(`${url}/v1/chat/completions`, body);
    await parts.next();
    parts.leave();
    await expect.poll(ended).toBe(1);
    let late = "";
    // Time may be up before the function has begun, which then does not end.
    for (let timeout = 300; timeout < 20_000 && !late.includes("chat.completion.chunk"); timeout *= 2) {
      const headers = { "x-request-timeout-ms": String(timeout) };
      late = await (
        await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body), headers })
      ).text();
    }
    expect(late).toContain("chat.completion.chunk");
    expect(late).toContain("deadline");
    await expect.poll(ended).toBeGreaterThan(1);
  });

  it("tells in the stream that the server behind it died", async () => {
    const server = await createServer({
      ...{ stages: [{ driver: "null" }], hooks: textHooks(), drainTimeoutMs: 100 },
    });
    const url = await openProxy(server.grpcAddress);
    const body = { messages: [{ role: "user", content: "endless" }], stream: true };
    const parts = await postForParts(`${url}/v1/chat/completions`, body);
    expect(await parts.next()).toContain("chat.completion.chunk");
    const [rest] = await Promise.all([parts.rest(), server.close().catch(() => {})]);
    expect(rest.at(-1)).toMatch(/"error":\{"message":".+"type":"/);
    const after = await ask(url, "/v1/chat/completions", body);
    expect([after.status, after.text]).toEqual([503, expect.stringContaining("cannot be reached")]);
  });

  it("says of an older server in one sentence that it does not tell its functions, and lists no models", async () => {
    const protocols = PROTOCOLS.filter(({ name }) => name !== "functions");
    const { address } = await serve(new ScriptedService(), { protocols });
    const url = await openProxy(address);
    const { status, text } = await ask(url, "/v1/chat/completions", chat("one"));
    expect(status).toBe(404);
    expect(JSON.parse(text).error.message).toMatch(/^The server behind this one does not tell [^.]+\.$/);
    expect(await (await fetch(`${url}/v1/models`)).json()).toEqual({ object: "list", data: [] });
  });

  it("sends a client's own Authorization on if it is to, and finds for each what that may see", async () => {
    const models = {
      "team-talk": { stages: [{ driver: "null" }], hooks: textHooks() },
      other: { stages: [{ driver: "null" }] },
    };
    const { grpcAddress } = await startServer({ models, auth: await authFiles() });
    const url = await openProxy(grpcAddress, { forwardAuthorization: true });
    const send = async (token: string, path: string, body?: object) => {
      const headers = { authorization: bearer(token) };
      const sent = body === undefined ? { headers } : { method: "POST", body: JSON.stringify(body), headers };
      const answer = await fetch(url + path, sent);
      return { status: answer.status, text: await answer.text() };
    };
    const asked = { ...chat("one"), model: "team-talk" };
    expect(await send("wrong", "/v1/chat/completions", asked)).toMatchObject({ status: 401 });
    expect(await send(TOKENS.team, "/v1/chat/completions", asked)).toMatchObject({ status: 200 });
    const { data } = JSON.parse((await send(TOKENS.team, "/v1/models")).text);
    expect(data.map(({ id }: { id: string }) => id)).toEqual(["team-talk"]);
  });

  it("takes the only model that a caller may know of for a request that names none", async () => {
    const models = {
      "team-talk": { stages: [{ driver: "null" }], hooks: textHooks() },
      zzz: { stages: [{ driver: "null" }] },
    };
    const { grpcAddress } = await startServer({ models });
    const targets = new ProxyTargets({ grpcAddress, allowProxyHeaders: false, forwardAuthorization: false });
    onTestFinished(() => targets.close());
    const rules = "allow: [{ who: ann, kinds: [infer, read], models: [team-*] }]";
    const scope = new CallScope("inference", readRules(parseYaml(rules, "rules.yaml"), "rules.yaml"), {
      names: ["ann"],
    });
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const guarded = new GuardedService(targets.toService());
    const lease = await runInScope(scope, () => leaseFor(guarded, { model: "", entries: ["chat"] }, call));
    expect(lease.description.model).toBe("team-talk");
  });

  it("counts a function that fails after its first part as a failure at the server behind it", async () => {
    const { log, events } = createEventLog();
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks: textHooks(), log });
    const url = await openProxy(grpcAddress);
    const { text } = await ask(url, "/v1/chat/completions", {
      ...{ messages: [{ role: "user", content: "late" }], stream: true },
    });
    expect(text).toContain('"content":"one"');
    expect(text).toContain("no more words");
    expect(JSON.stringify(events)).toContain("CallFunction");
  });
});
