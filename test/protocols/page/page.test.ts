import { copyFileSync, cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { RecentRequest } from "../../../src/observability/live/live-data.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import type { PageExample, PageState, PageVersion } from "../../../src/protocols/page/page-data.ts";
import { RepositorySource } from "../../../src/server/repository-source.ts";
import { openServer } from "../../../src/server/server.ts";
import { type ServerOptions, withDefaults } from "../../../src/server/server-options.ts";
import type { ModelGraph } from "../../../src/tensor/signature/model-graph.ts";
import { authFiles, basic } from "../../access/auth-fixture.ts";
import { tellingDriver } from "../../helpers/echo-driver.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { rawRequest } from "./raw-request.ts";

/** A driver whose model takes an x of any length that is at least `least`. */
const refusing = (least: number) => `
export default {
  name: "refusing", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1] }] } },
    isPure: true,
    predict: async ({ x }) => {
      if (x.data.length < ${least}) throw new Error("too short");
      return { y: x };
    },
    close: async () => {},
  }),
};`;
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const stages = [{ driver: "null" }];

async function pageToken(url: string): Promise<string> {
  const html = await (await fetch(`${url}/ui`)).text();
  return /name="kserving-page" content="([^"]+)"/.exec(html)?.[1] ?? "";
}

test("a browser gets the page at /, and other clients what they got", async () => {
  const { httpUrl } = await startServer({ stages });
  const page = await fetch(httpUrl, { headers: BROWSER });
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
  expect(await page.text()).not.toMatch(/<script>|<script[^>]*>[^<]|\son\w+=|style=|(?:src|href)="(?:\/|http)/);
  expect(await (await fetch(httpUrl)).text()).toContain("default 1 AVAILABLE");
  const predicted = await fetch(httpUrl, {
    ...{ method: "POST", headers: { ...BROWSER, "content-type": "application/json" }, body: '{"data":{"x":[1]}}' },
  });
  expect(await predicted.json()).toEqual({ x: [1] });
  expect((await fetch(httpUrl, { method: "DELETE" })).headers.get("allow")).toBe("GET, HEAD, POST");
});

test("the page's files are compressed, and not sent again to a browser that has them", async () => {
  const { httpUrl } = await startServer({ stages });
  const { headers, body } = await rawRequest(`${httpUrl}/ui/page.js`, { "accept-encoding": "gzip, deflate, br" });
  expect(headers["content-encoding"]).toBe("gzip");
  expect(headers.vary).toBe("Accept-Encoding");
  expect(body.length).toBeLessThan(100_000);
  const whole = gunzipSync(body);
  const alone = await rawRequest(`${httpUrl}/ui/page.js`, { "accept-encoding": "gzip" });
  expect(gunzipSync(alone.body)).toEqual(whole);
  expect((await rawRequest(`${httpUrl}/ui/page.js`)).body).toEqual(whole);
  const etag = String(headers.etag);
  const again = await rawRequest(`${httpUrl}/ui/page.js`, { "if-none-match": etag });
  expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);
  expect((await rawRequest(`${httpUrl}/ui/page.js`, { "if-none-match": '"other"' })).status).toBe(200);
});

test("a slash behind the page leads to the page, whatever the prefix", async () => {
  const { httpUrl } = await startServer({ stages });
  const { status, headers } = await rawRequest(`${httpUrl}/ui/`);
  expect([status, headers.location]).toEqual([308, "../ui"]);
});

test("the page hears of states with their reasons, stages, hooks and signatures", async () => {
  const hooks = {
    inputs: [
      { name: "x", dtype: "float32", shape: [-1, 2] },
      // Of a model it would take images.
      { name: "pixels", dtype: "uint8", shape: [-1, 8, 8, 3] },
      { name: "photo", dtype: "bytes", shape: [1] },
      { name: "frame_count", dtype: "int32", shape: [1] },
    ],
    preprocess: [null, (inputs: object) => inputs],
    postprocess: (outputs: object) => outputs,
  } as const;
  const model = {
    stages: [{ driver: "null" }, { driver: "null" }],
    hooks: { ...hooks, postprocess: [hooks.postprocess, null] },
  };
  const { httpUrl } = await startServer({
    models: { chain: model, gone: { path: "/no/such/model.onnx" } },
  } as ServerOptions);
  const { models, mayControl, mayWatch } = (await (await fetch(`${httpUrl}/ui/models`)).json()) as PageState;
  expect([mayControl, mayWatch]).toEqual([false, true]);
  const [chain, gone] = models as [PageVersion, PageVersion];
  expect(chain).toMatchObject({ model: "chain", version: "1", state: "AVAILABLE", isReady: true, reason: "" });
  expect(chain.hooks).toEqual(["postprocess 1", "preprocess 2"]);
  expect(chain.stages.map(({ driver }) => driver)).toEqual(["null", "null"]);
  const none = { takesImages: false, isForImages: false, isOptional: false };
  expect(chain.signatures[0]?.inputs).toEqual([
    { name: "x", datatype: "FP32", shape: [-1, 2], ...none },
    { name: "pixels", datatype: "UINT8", shape: [-1, 8, 8, 3], ...none },
    { name: "photo", datatype: "BYTES", shape: [1], ...none, isForImages: true },
    { name: "frame_count", datatype: "INT32", shape: [1], ...none },
  ]);
  expect(gone).toMatchObject({
    model: "gone",
    isReady: false,
    reason: expect.stringContaining("does not exist"),
    stages: [],
  });
  expect(JSON.stringify(models)).not.toContain("/no/such");
});

test("the page talks with the version that the model's name means", async () => {
  const path = tempFolder();
  for (const version of ["1", "2"])
    cpSync("test/fixtures/models/half-plus-two.onnx", join(path, version, "model.onnx"));
  const hooks: Hooks = { chat: () => "yes" };
  const { httpUrl } = await startServer({ models: { m: { path, versions: "all", hooks } } });
  const { models } = (await (await fetch(`${httpUrl}/ui/models`)).json()) as PageState;
  const texts = Object.fromEntries(models.map((each) => [each.version, each.texts]));
  expect(texts).toEqual({ 1: [], 2: ["chat"] });
});

test("the page talks with no model where the routes that it asks are left out", async () => {
  const hooks: Hooks = { chat: () => "yes" };
  const { httpUrl } = await startServer({ models: { m: { driver: "null", hooks } }, servedProtocols: "-openai" });
  const { models } = (await (await fetch(`${httpUrl}/ui/models`)).json()) as PageState;
  expect(models.map(({ texts }) => texts)).toEqual([[]]);
});

test("the page says of a model in how large batches its requests run, and that it answers in parts", async () => {
  const hooks = {
    async *process() {
      yield { done: true };
    },
  };
  const models = {
    alone: { driver: "null" },
    batched: { driver: "null", options: { max_batch_size: "8" } },
    parted: { driver: "null", hooks },
  };
  const { httpUrl } = await startServer({ models });
  const state = (await (await fetch(`${httpUrl}/ui/models`)).json()) as PageState;
  expect(state.models.map(({ model, notes, isDecoupled }) => [model, notes, isDecoupled])).toEqual([
    ["alone", [], false],
    ["batched", ["Waiting requests run in batches of up to 8 rows."], false],
    ["parted", ["An answer comes in parts, as they are ready."], true],
  ]);
});

describe("the columns of a table", () => {
  const suggest = (...suggestedInputs: readonly object[]) => ({ isTabular: true, suggestedInputs });
  const column = (name: string, dtype: string, shape = [-1]) => ({ name, dtype, shape });
  const categories = ["Paris", "Rome"];

  /** Those that the page hears of for a model with this signature. */
  async function tableOf(signature: object): Promise<unknown> {
    const driver = join(tempFolder({ "telling.ts": tellingDriver(signature) }), "telling.ts");
    const { httpUrl } = await startServer({ models: { m: { driver } } });
    const [version] = ((await (await fetch(`${httpUrl}/ui/models`)).json()) as PageState).models;
    const { table } = (await (await fetch(`${httpUrl}/ui/models/m/versions/1/example`)).json()) as PageExample;
    expect(version?.signatures[0]?.isTable === true).toBe(table !== undefined);
    return table && [table.knowsMissingTexts, ...table.columns];
  }

  test("are the inputs that a model of tables suggests, with what it knows of them", async () => {
    const city = { ...column("city", "bytes"), categories };
    expect(await tableOf(suggest(column("age", "float64"), city))).toEqual([
      true,
      { name: "age", datatype: "FP64" },
      { name: "city", datatype: "BYTES", categories },
    ]);
  });

  test("are the features of rows", async () => {
    const features = ["width", "height"];
    expect(await tableOf(suggest({ ...column("input", "float32", [-1, 2]), features }))).toEqual([
      true,
      ...features.map((name) => ({ name, datatype: "FP32" })),
    ]);
  });

  test("are declared inputs of one value for each row, where not all are texts", async () => {
    expect(await tableOf({ inputs: [column("a", "float32", [-1, 1]), column("b", "bytes", [-1, 1])] })).toEqual([
      false,
      { name: "a", datatype: "FP32" },
      { name: "b", datatype: "BYTES" },
    ]);
  });

  test.each([
    ["one declared input", { inputs: [column("a", "float32")] }],
    ["declared texts", { inputs: [column("a", "bytes"), column("b", "bytes")] }],
    ["an input of several values a row", { inputs: [column("a", "float32"), column("b", "float32", [-1, 2])] }],
    ["rows whose features have no names", suggest(column("input", "float32", [-1, 2]))],
    ["more columns than a form has", suggest(...Array.from({ length: 201 }, (_, at) => column(`c${at}`, "float64")))],
  ])("are none for %s", async (_, signature) => {
    expect(await tableOf(signature)).toBeUndefined();
  });
});

test("the page hears which values ran, and which are a guess: of hooks, of open sizes, of what fails", async () => {
  const half = "test/fixtures/models/half-plus-two.onnx";
  const photo = { name: "photo", dtype: "uint8", shape: [1, -1, -1, 3] } as const;
  const hooks: Hooks = { inputs: [photo], process: (inputs) => inputs };
  const drivers = tempFolder({ "any.ts": refusing(0), "eight.ts": refusing(8), "none.ts": refusing(1e9) });
  const models = {
    ran: { driver: "onnx", path: half },
    images: { driver: "null", hooks },
    any: { driver: join(drivers, "any.ts") },
    eight: { driver: join(drivers, "eight.ts") },
    none: { driver: join(drivers, "none.ts") },
  };
  const { httpUrl } = await startServer({ models });
  const noteOf = async (model: string) =>
    ((await (await fetch(`${httpUrl}/ui/models/${model}/versions/1/example`)).json()) as PageExample).note;
  expect([await noteOf("ran"), await noteOf("any")]).toEqual(["", ""]);
  expect(await noteOf("images")).toBe("These values are a guess: they have not been run.");
  expect(await noteOf("eight")).toBe("The model leaves sizes open; these are guessed, and ran: x [8].");
  expect(await noteOf("none")).toBe("These values were tried, and did not run; send sizes and values of your own.");
});

test("the page gets the graph of a model's file, and the reason where there is none to draw", async () => {
  const path = `${tempFolder()}/model.onnx`;
  copyFileSync("test/fixtures/models/half-plus-two.onnx", path);
  const saved = { driver: "tensorflow", path: "test/fixtures/tensorflow/half_plus_two" };
  const models = { default: { driver: "onnx", path }, gone: { driver: "onnx", path }, echo: { driver: "null" }, saved };
  const { httpUrl } = await startServer({ models, auth: await authFiles() });
  const ask = async (place: string, name = "root", password = "toor") => {
    const headers = { authorization: basic(name, password) };
    const answer = await fetch(`${httpUrl}/ui/models/${place}/graph`, { headers });
    return { status: answer.status, body: await answer.text() };
  };
  const { status, body } = await ask("default/versions/1/stages/1", "alice", "open sesame");
  expect([status, (JSON.parse(body) as ModelGraph).nodes.map(({ type }) => type)]).toEqual([
    ...[200, ["Input", expect.any(String), expect.any(String), "Output"]],
  ]);
  expect(await ask("gone/versions/1/stages/1", "alice", "open sesame")).toMatchObject({ status: 404 });
  const state = await fetch(`${httpUrl}/ui/models`, { headers: { authorization: basic("root", "toor") } });
  const withGraph = ((await state.json()) as PageState).models.filter(({ stages: [only] }) => only?.hasGraph);
  expect(withGraph.map(({ model }) => model)).toEqual(["default", "gone", "saved"]);
  expect(await ask("saved/versions/1/stages/1")).toMatchObject({ status: 200, body: expect.stringContaining("AddV2") });
  rmSync(path);
  for (const [place, expected, why] of [
    ["gone/versions/1/stages/1", 400, "cannot be drawn"],
    ["echo/versions/1/stages/1", 501, "this is none of them"],
    ["default/versions/1/stages/2", 404, "no stage 2"],
    ["default/versions/7/stages/1", 404, "not available"],
  ] as const) {
    const refused = await ask(place);
    expect([place, refused.status, refused.body]).toEqual([place, expected, expect.stringContaining(why)]);
    expect(refused.body).not.toContain(path);
  }
});

test("a limit of rows in a model's configuration is not shown as batches", async () => {
  const config = 'backend: "onnxruntime"\nmax_batch_size: 4';
  const model = readFileSync("test/fixtures/models/half-plus-two.onnx");
  const folder = tempFolder({ "limited/config.pbtxt": config, "limited/1/model.onnx": model });
  const log = createSilentLogger();
  const server = await openServer(
    withDefaults({ http: {}, log }),
    new RepositorySource({ folders: [folder] }, { pollMs: 60_000, log }),
  );
  onTestFinished(() => server.close());
  expect(await (await fetch(`${server.httpUrl}/ui/models`)).json()).toMatchObject({
    models: [{ model: "limited", state: "AVAILABLE", notes: [] }],
  });
});

test("without the page, / and /ui are as if there were none", async () => {
  const { httpUrl } = await startServer({ stages, ui: false });
  expect(await (await fetch(httpUrl, { headers: BROWSER })).text()).toContain("default 1 AVAILABLE");
  expect((await fetch(`${httpUrl}/ui`)).status).toBe(404);
  expect((await fetch(`${httpUrl}/ui/models`)).status).toBe(404);
});

test("the page changes models with its token, and no other page does", async () => {
  const { httpUrl } = await startServer({ stages, allowControl: "local", corsOrigins: ["*"] });
  const token = await pageToken(httpUrl);
  const change = async (deed: string, headers: Record<string, string>) =>
    (await rawRequest(`${httpUrl}/ui/models/default/${deed}`, headers, "POST")).status;
  const own = { origin: httpUrl, "sec-fetch-site": "same-origin", "x-kserving-page": token };
  expect(await change("unload", own)).toBe(200);
  expect((await (await fetch(`${httpUrl}/ui/models`)).json()) as object).toMatchObject({ models: [{ state: "END" }] });
  expect(await change("load", own)).toBe(200);
  expect(await change("load", { ...own, "x-kserving-page": "guess" })).toBe(403);
  expect(await change("load", { ...own, "x-kserving-page": "A".repeat(token.length) })).toBe(403);
  expect(await change("load", { ...own, origin: "https://evil.example", "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await change("load", { ...own, host: "evil.example" })).toBe(403);
  const foreign = await fetch(`${httpUrl}/ui/models`, { headers: { origin: "https://evil.example" } });
  expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
  const shell = await fetch(`${httpUrl}/ui`, { headers: { origin: "https://evil.example" } });
  expect(shell.headers.get("access-control-allow-origin")).toBeNull();
});

test("the page changes nothing where control is off", async () => {
  const { httpUrl } = await startServer({ stages });
  const headers = { "x-kserving-page": await pageToken(httpUrl) };
  const { status, body } = await rawRequest(`${httpUrl}/ui/rescan`, headers, "POST");
  expect([status, body.toString()]).toEqual([403, expect.stringContaining("--allow-control")]);
});

test("the program of the page is for everybody, and models are for callers that may know of them", async () => {
  const models = { default: { stages }, secret: { stages } };
  const { httpUrl } = await startServer({ models, auth: await authFiles(), allowControl: "all" });
  expect((await fetch(httpUrl, { headers: BROWSER })).status).toBe(200);
  expect((await fetch(`${httpUrl}/ui/page.css`)).status).toBe(200);
  expect((await fetch(`${httpUrl}/ui/models`)).status).toBe(401);
  const seenBy = async (authorization: string) => {
    const answer = await fetch(`${httpUrl}/ui/models`, { headers: { authorization } });
    const { models: seen, ...rest } = (await answer.json()) as { models: { model: string }[] };
    return { ...rest, seen: seen.map(({ model }) => model) };
  };
  expect(await seenBy(basic("alice", "open sesame"))).toMatchObject({
    ...{ user: "alice", mayControl: false, mayWatch: false, seen: ["default"] },
  });
  expect(await seenBy(basic("root", "toor"))).toMatchObject({
    ...{ user: "root", mayControl: true, mayWatch: true, seen: ["default", "secret"] },
  });
});

test("requests are kept with their parts while a page is open", async () => {
  const hooks = { preprocess: (inputs: object) => inputs } as Hooks;
  const { httpUrl, grpcAddress } = await startServer({ stages, hooks });
  const infer = (x: unknown) =>
    fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: JSON.stringify({ inputs: { x } }) });
  const look = async () => (await (await fetch(`${httpUrl}/ui/requests`)).json()) as { requests: RecentRequest[] };
  await infer(1);
  expect(await look()).toEqual({ requests: [] });
  await (await infer(1)).text();
  const input = { name: "x", datatype: "INT8", shape: [1], contents: { int_contents: [1] } };
  await connectKserve(grpcAddress)("ModelInfer", { model_name: "default", inputs: [input] });
  await expect.poll(async () => (await look()).requests.length).toBe(2);
  const { requests } = await look();
  expect(requests.map(({ model, status, protocol }) => [model, status, protocol])).toEqual([
    ["default", "ok", "kserve"],
    ["default", "200", "tensorflow-serving"],
  ]);
  expect(requests[1]?.parts.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["decode", "preprocess 1", "model 1", "encode"]),
  );
});

test("requests, charts and the log are for those who may know of all models", async () => {
  const { httpUrl } = await startServer({ stages, auth: await authFiles() });
  const statusOf = async (path: string, authorization: string) =>
    (await fetch(httpUrl + path, { headers: { authorization } })).status;
  for (const path of ["/ui/requests", "/ui/history", "/ui/log"]) {
    expect([path, await statusOf(path, basic("alice", "open sesame"))]).toEqual([path, 403]);
    expect([path, await statusOf(path, basic("root", "toor"))]).toEqual([path, 200]);
  }
  const open = await startServer({ stages });
  const behindProxy = await fetch(`${open.httpUrl}/ui/log`, { headers: { "x-forwarded-for": "1.2.3.4" } });
  expect(behindProxy.status).toBe(403);
});
