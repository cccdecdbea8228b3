import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectSocket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { expect, onTestFinished, test, vi } from "vitest";
import { hashPassword } from "../../src/access/authentication/password-hash.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { authFiles, basic, bearer, CHEAP, TOKENS } from "../access/auth-fixture.ts";
import { connect } from "../grpc/byte-client.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";
import { postForParts } from "../proxy/read-parts.ts";

const ALICE = basic("alice", "open sesame");
const NULL_MODEL = { stages: [{ driver: "null" }] };
const BODY = JSON.stringify({ inputs: [{ name: "x", shape: [1], datatype: "FP32", data: [1] }] });

/** A server of the models default, team-a and other, all of which echo. */
async function start(options: Partial<ServerOptions> = {}) {
  const models = { default: NULL_MODEL, "team-a": NULL_MODEL, zebra: NULL_MODEL };
  return startServer({ models, auth: await authFiles(), allowControl: "all", ...options });
}

/** Status and text of a request; with a body by POST. */
async function ask(url: string, authorization?: string, body?: string): Promise<readonly [number, string]> {
  const headers = { ...(authorization && { authorization }) };
  const answer = await fetch(url, { headers, ...(body !== undefined && { method: "POST", body }) });
  return [answer.status, await answer.text()];
}

test("a password and a token are taken on both transports, and a wrong one is told what is expected", async () => {
  const { httpUrl, grpcAddress } = await start();
  for (const authorization of [ALICE, bearer(TOKENS.user)]) {
    expect((await ask(`${httpUrl}/v2/models/default/infer`, authorization, BODY))[0]).toBe(200);
    const metadata = { authorization };
    await connect(grpcAddress).call("/inference.GRPCInferenceService/ServerMetadata", Buffer.alloc(0), { metadata });
  }
  const texts = new Set<string>();
  for (const wrong of [basic("alice", "open"), basic("nobody", "open sesame"), "Basic eA==", "Basic"]) {
    const [status, text] = await ask(`${httpUrl}/v2`, wrong);
    expect(status).toBe(401);
    texts.add(text);
    expect(text).not.toContain("open");
  }
  // Who has no such name is told the same as who has another password.
  expect([...texts]).toHaveLength(2);
  const answer = await fetch(`${httpUrl}/v2`, { headers: { authorization: bearer("x".repeat(32)) } });
  expect(answer.headers.get("www-authenticate")).toContain('Bearer realm="kserving", error="invalid_token"');
});

test("a call is refused before its body is read, also where it asks whether to send it", async () => {
  const { httpUrl } = await start();
  for (const expectation of ["", "Expect: 100-continue\r\n"]) {
    const head = `POST /v2/models/default/infer HTTP/1.1\r\nHost: x\r\n${expectation}Content-Length: 200000000\r\n\r\n`;
    const socket = connectSocket(Number(new URL(httpUrl).port), "127.0.0.1", () => socket.write(head));
    onTestFinished(() => void socket.destroy());
    const first = await new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))));
    expect(first).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close/i);
  }
});

test("who may send a body is told to go on", async () => {
  const { httpUrl } = await start();
  const head = `POST /v2/models/default/infer HTTP/1.1\r\nHost: x\r\nAuthorization: ${ALICE}\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`;
  const socket = connectSocket(Number(new URL(httpUrl).port), "127.0.0.1", () => socket.write(head));
  onTestFinished(() => void socket.destroy());
  const next = () => new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))));
  expect(await next()).toMatch(/^HTTP\/1\.1 100 /);
  socket.write(BODY);
  expect(await next()).toMatch(/^HTTP\/1\.1 200 /);
});

test("a caller that may use some models hears of no others", async () => {
  const { httpUrl, grpcAddress } = await start();
  const team = bearer(TOKENS.team);
  expect(JSON.parse((await ask(`${httpUrl}/v2/models`, team))[1])).toEqual({ models: ["team-a"] });
  for (const path of ["/v1/models", "/v1/config", "/v2/models/stats", "/v2/openapi.json"]) {
    const [status, text] = await ask(httpUrl + path, team);
    expect([status, text.includes("team-a"), /zebra/.test(text)]).toEqual([200, true, false]);
  }
  expect((await ask(`${httpUrl}/v2/models/team-a/infer`, team, BODY))[0]).toBe(200);
  const [status, refusal] = await ask(`${httpUrl}/v2/models/zebra/infer`, team, BODY);
  expect([status, refusal]).toEqual([403, expect.stringContaining('token:team may not run the model \\"zebra\\"')]);
  // Whether there is such a model or not.
  expect((await ask(`${httpUrl}/v2/models/nothing`, team))[0]).toBe(403);
  const [unknown, text] = await ask(`${httpUrl}/v1/models/team-b:predict`, team, '{"instances": [1]}');
  expect([unknown, text.includes("team-a")]).toEqual([404, false]);
  const call = connect(grpcAddress).call("/tensorflow.serving.PredictionService/Predict", Buffer.alloc(0), {
    metadata: { authorization: team },
  });
  // A request that names no model means the only one that its sender has.
  await call;
});

test("a caller that may change some models changes those alone", async () => {
  const { httpUrl } = await start();
  const team = bearer(TOKENS.team);
  const change = (path: string, body = "{}") => ask(httpUrl + path, team, body).then(([status]) => status);
  expect(await change("/v2/repository/models/zebra/unload")).toBe(403);
  expect(await change("/v2/repository/models/zebra/load")).toBe(403);
  expect(await change("/v2/repository/models/team-a/unload", '{"parameters":{"unload_dependents":true}}')).toBe(403);
  expect(await change("/v2/logging", '{"log_info":false}')).toBe(403);
  expect(await change("/v2/trace/setting", '{"trace_rate":"1"}')).toBe(403);
  expect(await change("/v1/config/reload")).toBe(403);
  expect(
    await change("/v2/repository/models/team-a/load", loadOf({ step: [{ model_name: "zebra", model_version: -1 }] })),
  ).toBe(403);
  expect(await change("/v2/repository/models/team-a/unload")).toBe(200);
  expect((await ask(`${httpUrl}/v2/logging`, bearer(TOKENS.admin), '{"log_info":true}'))[0]).not.toBe(403);
});

test("a caller that may change some models hears of no others that need these, or are needed by them", async () => {
  const needing = { stages: [{ model: "team-a" }] };
  const models = {
    "team-a": NULL_MODEL,
    zebra: needing,
    "team-b": { stages: [{ model: "zebra" }] },
    "team-c": needing,
  };
  const { httpUrl } = await start({ models });
  const change = (who: string, path: string, body = "{}") =>
    ask(`${httpUrl}/v2/repository/models/${path}`, bearer(TOKENS[who as "team"]), body);
  expect(await change("team", "team-a/unload")).toEqual([
    400,
    expect.stringContaining("is needed by team-c, models that you may not know of; unload what needs it first"),
  ]);
  expect(await change("admin", "team-a/unload")).toEqual([400, expect.stringContaining("needed by zebra, team-c;")]);
  expect((await change("team", "team-none/load"))[1]).toMatch(
    /no model \\"team-none\\".* This server has (?!.*zebra).*team-a/,
  );
  await change("admin", "zebra/unload", '{"parameters":{"unload_dependents":true}}');
  const indexFor = (who: string) => change(who, "../index");
  expect((await indexFor("admin"))[1]).toContain("zebra");
  expect((await indexFor("team"))[1]).not.toContain("zebra");
});

test("a caller hears of a model that another one lacks where it may ask about it", async () => {
  const rules = `
allow:
  - { who: "token:team", kinds: [infer, read, control], models: team-* }
  - { who: "token:user", kinds: control, models: team-* }
  - { who: "token:user", kinds: read, models: "*" }
  - { who: "token:admin", kinds: [infer, read, control, metrics] }
`;
  const models = { zebra: { path: "none.onnx" }, "team-a": { stages: [{ model: "zebra" }] }, "team-b": NULL_MODEL };
  const { httpUrl } = await start({ models, auth: await authFiles(rules), failFast: false });
  const load = (who: "team" | "user" | "admin") =>
    ask(`${httpUrl}/v2/repository/models/team-a/load`, bearer(TOKENS[who]), "{}").then(([, text]) => text);
  expect(await load("team")).toContain("It needs another model, which is not available.");
  expect(await load("user")).toContain('It needs the model \\"zebra\\", which could not be loaded: ');
  expect(await load("admin")).toContain('It needs the model \\"zebra\\", which could not be loaded: ');
  for (const path of ["/v1/models/team-a", "/v2/repository/index"]) {
    const body = path.startsWith("/v2") ? "{}" : undefined;
    expect((await ask(httpUrl + path, bearer(TOKENS.team), body))[1]).toMatch(/^(?!.*zebra).*It needs another model/s);
    expect((await ask(httpUrl + path, bearer(TOKENS.admin), body))[1]).toContain("It needs the model");
  }
});

/** The body of a load of a model as an ensemble, which would run other models for its callers. */
function loadOf({ step }: { step: readonly object[] }): string {
  const maps = { input_map: { x: "X" }, output_map: { x: "Y" } };
  const value = { data_type: "TYPE_FP32", dims: [1] };
  const config = {
    platform: "ensemble",
    input: [{ name: "X", ...value }],
    output: [{ name: "Y", ...value }],
    ensemble_scheduling: { step: step.map((one) => ({ ...one, ...maps })) },
  };
  return JSON.stringify({ parameters: { config: JSON.stringify(config), "file:1/model.onnx": "AAAA" } });
}

test("probes need no name, and hear of no model that they do not name", async () => {
  const { httpUrl } = await start();
  for (const path of ["/health", "/v2/health/ready", "/v2/models/zebra/ready"])
    expect((await ask(httpUrl + path))[0]).toBe(200);
  const [status, text] = await ask(`${httpUrl}/v2/models/zebr/ready`);
  expect([status, /team-a|zebra/.test(text)]).toEqual([404, false]);
});

test("without rules, who is known may do everything", async () => {
  const { rules: _rules, ...auth } = await authFiles();
  const { httpUrl } = await start({ auth });
  for (const path of ["/metrics", "/v2/models/zebra"]) {
    expect((await ask(httpUrl + path))[0]).toBe(401);
    expect((await ask(httpUrl + path, ALICE))[0]).toBe(200);
  }
});

test("metrics are open where a rule says so", async () => {
  const { httpUrl } = await start({ auth: await authFiles("open: [health, metrics]") });
  const [status, text] = await ask(`${httpUrl}/metrics`);
  expect([status, text.includes("team-a")]).toEqual([200, true]);
  expect((await ask(`${httpUrl}/v2`))[0]).toBe(401);
});

test("web pages are answered in advance, and may read why they are refused", async () => {
  const { httpUrl } = await start({ corsOrigins: ["https://app.example"] });
  const page = { origin: "https://app.example", "access-control-request-method": "POST" };
  const asked = { ...page, "access-control-request-headers": "authorization" };
  const preflight = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "OPTIONS", headers: asked });
  expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([200, "authorization"]);
  const refused = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", headers: page, body: BODY });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, "https://app.example"]);
});

test("hooks and the log hear the caller's name, not its password", async () => {
  const told: string[] = [];
  const preprocess = (inputs: object, { metadata }: { metadata: object }) => {
    told.push(JSON.stringify(metadata));
    return inputs;
  };
  const { log, find, events } = createEventLog("info");
  const server = { stages: [{ driver: "null" }], hooks: { preprocess } as never, workers: 0, accessLog: true, log };
  const { httpUrl, grpcAddress } = await startServer({ ...server, auth: await authFiles() });
  expect((await ask(`${httpUrl}/v2/models/default/infer`, ALICE, BODY))[0]).toBe(200);
  const metadata = { authorization: ALICE };
  await connect(grpcAddress).call("/tensorflow.serving.PredictionService/Predict", Buffer.alloc(0), { metadata });
  await find({ user: "alice" });
  expect(told).toHaveLength(2);
  expect(JSON.stringify([told, events])).not.toMatch(/authorization|Basic|sesame/);
});

test("wrong passwords from an address are soon not looked at, while known callers there go on", async () => {
  const { httpUrl } = await start();
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  const attack = Array.from({ length: 30 }, (_, index) => ask(`${httpUrl}/v2`, basic("alice", `guess ${index}`)));
  const statuses = (await Promise.all(attack)).map(([status]) => status);
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  const limited = await fetch(`${httpUrl}/v2`, { headers: { authorization: basic("root", "toor") } });
  expect([limited.status, Number(limited.headers.get("retry-after"))]).toEqual([429, expect.toSatisfy((s) => s > 0)]);
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  expect((await ask(`${httpUrl}/v2`, bearer(TOKENS.admin)))[0]).toBe(200);
});

test("files that change count within seconds, and one that does not work changes nothing", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const auth = await authFiles();
  const { httpUrl } = await start({ auth, log });
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  writeFileSync(auth.users, "alice:secret\n");
  await vi.advanceTimersByTimeAsync(10_000);
  const { err } = await find({ msg: "credentials or rules cannot be read; the former ones stay in use" });
  expect(JSON.stringify(err)).toMatch(/users\.txt:1: the hash is not/);
  expect(JSON.stringify(err)).not.toContain("secret");
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  writeFileSync(auth.users, `bob:${await hashPassword("changed", CHEAP)}\n`);
  await vi.advanceTimersByTimeAsync(10_000);
  await find({ msg: "credentials or rules have changed" });
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(401);
});

test("who is known stays known when the line of another user changes, at whatever address", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const auth = await authFiles();
  const { httpUrl } = await start({ auth, log });
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  expect((await ask(`${httpUrl}/v2`, basic("root", "toor")))[0]).toBe(200);
  // So that passwords are looked at no longer.
  await Promise.all(Array.from({ length: 30 }, (_, index) => ask(`${httpUrl}/v2`, basic("alice", `guess ${index}`))));
  const [alice] = readFileSync(auth.users, "utf8").split("\n");
  writeFileSync(auth.users, `# changed\n${alice}\nroot:${await hashPassword("changed", CHEAP)}\n`);
  await vi.advanceTimersByTimeAsync(10_000);
  await find({ msg: "credentials or rules have changed" });
  expect((await ask(`${httpUrl}/v2`, ALICE))[0]).toBe(200);
  expect((await ask(`${httpUrl}/v2`, basic("root", "toor")))[0]).toBe(429);
});

test("a stream ends when its user is removed, or may do that no longer, and others go on", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const auth = await authFiles();
  const { grpcAddress } = await start({ auth, log });
  const open = (authorization: string, path = "/inference.GRPCInferenceService/ModelStreamInfer") =>
    openStream(grpcAddress, path, authorization);
  const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const streams = [open(ALICE), open(ALICE, reflection), open(bearer(TOKENS.user)), open(bearer(TOKENS.admin))];
  for (const stream of streams) await stream.ask();
  writeFileSync(auth.users, readFileSync(auth.users, "utf8").replace(/^alice.*\n/, ""));
  await vi.advanceTimersByTimeAsync(10_000);
  await find({ msg: "credentials or rules have changed" });
  const [alice, asked, user, admin] = streams as [Asked, Asked, Asked, Asked];
  expect([await alice.ended, await asked.ended]).toEqual([16, 16]);
  await user.ask();
  writeFileSync(auth.rules, readFileSync(auth.rules, "utf8").replace('"token:user"', '"token:nothing"'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await user.ended).toBe(7);
  await admin.ask();
});

/** Parts without an end, the first of them once it may begin. */
function endlessHooks() {
  const begun = createDeferred<void>();
  const entered = createDeferred<void>();
  const hooks: Hooks = {
    async *process(inputs, ctx) {
      entered.resolve();
      await begun.promise;
      for (;;) {
        yield { y: inputs.x as Tensor };
        await wait(5, undefined, { signal: ctx.signal });
      }
    },
    collect: () => ({}),
  };
  return { hooks, begin: () => begun.resolve(), entered: entered.promise };
}

test("an answer in parts over HTTP ends when its user may not run that model any longer, before its first part and after", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const auth = await authFiles();
  const [running, waiting] = [endlessHooks(), endlessHooks()];
  running.begin();
  const stages = [{ driver: "null" }];
  const models = { default: { stages, hooks: running.hooks }, "team-a": { stages, hooks: waiting.hooks } };
  const { httpUrl, grpcAddress } = await startServer({ models, auth, workers: 0, log });
  const post = (model: string, token: string) =>
    postForParts(`${httpUrl}/v2/models/${model}/generate_stream`, { x: 1 }, { authorization: bearer(token) });
  const [user, admin] = [await post("default", TOKENS.user), await post("default", TOKENS.admin)];
  const team = post("team-a", TOKENS.team);
  const stream = openStream(grpcAddress, "/inference.GRPCInferenceService/ModelStreamInfer", bearer(TOKENS.user));
  // Its model's name alone.
  await stream.ask(Buffer.from("\n\u0007default"));
  await waiting.entered;
  for (const reader of [user, admin]) expect(await reader.next()).toContain("data:");
  // They may still make calls of this kind.
  const rules = readFileSync(auth.rules, "utf8")
    .replace("models: default", "models: others")
    .replace("[team-*, own]", "own");
  writeFileSync(auth.rules, rules);
  await vi.advanceTimersByTimeAsync(10_000);
  await find({ msg: "credentials or rules have changed" });
  expect((await user.rest()).at(-1)).toContain('may not run the model \\"default\\"');
  expect(await stream.ended).toBe(7);
  expect((await team).answer.statusCode).toBe(403);
  expect(await admin.next()).toContain("data:");
  admin.leave();
});

test("a gRPC call of one message ends when its user is removed, or may not run that model any longer, and others go on", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const auth = await authFiles();
  const gate = createDeferred<void>();
  let [running, left] = [0, 0];
  const hooks: Hooks = {
    process: async (_, ctx) => {
      running++;
      ctx.signal.addEventListener("abort", () => left++);
      await gate.promise;
      return { y: 1 };
    },
  };
  const models = { default: { stages: [{ driver: "null" }], hooks } };
  const { grpcAddress } = await startServer({ models, auth, workers: 0, log });
  const path = "/inference.GRPCInferenceService/ModelInfer";
  const calls = [ALICE, bearer(TOKENS.user), bearer(TOKENS.admin)].map((authorization) =>
    connect(grpcAddress)
      .call(path, Buffer.from("\n\u0007default"), { metadata: { authorization } })
      .then(
        () => 0,
        ({ code }) => code,
      ),
  );
  await expect.poll(() => running).toBe(3);
  writeFileSync(auth.users, readFileSync(auth.users, "utf8").replace(/^alice.*\n/, ""));
  writeFileSync(auth.rules, readFileSync(auth.rules, "utf8").replace("models: default", "models: others"));
  await vi.advanceTimersByTimeAsync(10_000);
  await find({ msg: "credentials or rules have changed" });
  expect([await calls[0], await calls[1]]).toEqual([16, 7]);
  // A listener tells its client first.
  await expect.poll(() => left).toBe(2);
  gate.resolve();
  expect(await calls[2]).toBe(0);
});

interface Asked {
  /** Sends a message, and resolves once that is answered. Default: an empty one. */
  ask(message?: Buffer): Promise<void>;
  /** The status by which the stream ends. */
  readonly ended: Promise<number>;
}

function openStream(address: string, path: string, authorization: string): Asked {
  const client = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", authorization);
  const asIs = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(path, asIs, asIs, metadata);
  onTestFinished(() => {
    // Else the server waits for it as long as it drains.
    call.cancel();
    client.close();
  });
  const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
  call.on("error", () => {});
  const ask = async (message = Buffer.alloc(0)) => {
    const answered = new Promise<void>((resolve) => call.once("data", () => resolve()));
    call.write(message);
    await answered;
  };
  return { ask, ended };
}

test("a certificate is a name, which a rule may know", async () => {
  const rules =
    "allow: [{ who: [cn:client], kinds: [infer] }, { who: [dns:localhost], kinds: [read], models: team-* }]";
  const folder = tempFolder({ "rules.yaml": rules });
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key"), clientCa: tlsPath("ca.pem") };
  const { httpUrl, grpcAddress } = await start({ tls, auth: { rules: `${folder}/rules.yaml` } });
  const own = { ca: tlsFile("ca.pem"), cert: tlsFile("client.pem"), key: tlsFile("client.key") };
  const status = (path: string, method = "GET") =>
    new Promise((resolve, reject) => {
      const sent = request(httpUrl + path, { ...own, method }, (answer) => resolve(answer.resume().statusCode));
      sent.on("error", reject).end(method === "POST" ? BODY : undefined);
    });
  expect(await status("/v2/models/zebra/infer", "POST")).toBe(200);
  expect([await status("/v2/models/team-a"), await status("/v2/models/zebra"), await status("/metrics")]).toEqual([
    ...[200, 403, 403],
  ]);
  const client = new Client(grpcAddress, credentials.createSsl(own.ca, own.key, own.cert));
  onTestFinished(() => client.close());
  const code = (path: string) =>
    new Promise((resolve) => {
      const asIs = (bytes: Buffer) => bytes;
      client.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(0), (error) => resolve(error?.code ?? 0));
    });
  expect(await code("/inference.GRPCInferenceService/ServerMetadata")).toBe(0);
  expect(await code("/inference.GRPCInferenceService/RepositoryModelUnload")).toBe(7);
});

test("a single user has a name, and a password in a file", async () => {
  const folder = tempFolder({ password: "hunter2\n", empty: "\n" });
  const auth = { username: "carol", passwordFile: `${folder}/password` };
  const { httpUrl } = await start({ auth });
  expect((await ask(`${httpUrl}/v2`, basic("carol", "hunter2")))[0]).toBe(200);
  expect((await ask(`${httpUrl}/v2`, basic("carol", "hunter2\n")))[0]).toBe(401);
  for (const [wrong, message] of [
    [{ username: "carol" }, "--auth-password-file"],
    [{ ...auth, passwordFile: `${folder}/empty` }, "is empty"],
    [{ ...auth, passwordFile: `${folder}/none` }, "cannot be read"],
    [{ rules: `${folder}/empty` }, "no rules"],
  ] as const)
    await expect(start({ auth: wrong })).rejects.toThrow(message);
});

test("an alias opens no model that its caller may not call", async () => {
  const options = { models: { zebra: NULL_MODEL }, alias: "team-a" };
  const { httpUrl } = await start(options);
  const own = await start({ models: { "team-a": NULL_MODEL }, alias: "zebra" });
  const path = "v2/models";
  expect((await ask(`${httpUrl}/${path}/team-a/infer`, bearer(TOKENS.team), BODY))[0]).toBe(403);
  expect((await ask(`${own.httpUrl}/${path}/zebra/infer`, bearer(TOKENS.team), BODY))[0]).toBe(200);
});
