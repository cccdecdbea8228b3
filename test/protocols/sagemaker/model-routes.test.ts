import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NamedModels } from "../../../src/server/named-models.ts";
import { openServer } from "../../../src/server/server.ts";
import { type ServerOptions, withDefaults } from "../../../src/server/server-options.ts";
import { authFiles, bearer, TOKENS } from "../../access/auth-fixture.ts";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const ROOT = "/opt/ml/models";

/** A platform's folder with these folders of models, `a/1`, in each of which is the same model. */
function modelFolder(...folders: readonly string[]): string {
  const path = tempFolder();
  for (const folder of folders) {
    mkdirSync(join(path, folder), { recursive: true });
    cpSync(HALF, join(path, folder, "model.onnx"));
  }
  return path;
}

async function serve(path: string, options: Partial<ServerOptions> = {}, ofModels: Record<string, string> = {}) {
  const choices = { ...withDefaults({ http: {}, ...options }), platform: { named: ROOT, path, options: ofModels } };
  const given = { ...choices, keysForAll: Object.keys(ofModels) };
  const server = await openServer(given, new NamedModels({}));
  onTestFinished(() => server.close());
  const ask = async (method: string, place: string, body?: string | object, headers: Record<string, string> = {}) => {
    const text = typeof body === "object" ? JSON.stringify(body) : body;
    const init = {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(text !== undefined && { body: text }),
    };
    const answer = await fetch(`${server.httpUrl}${place}`, init);
    return { status: answer.status, text: await answer.text() };
  };
  const load = (name: string, url = `${ROOT}/${name}`) => ask("POST", "/models", { model_name: name, url });
  return { server, ask, load };
}

test("models have the options of the command line", async () => {
  const { load } = await serve(modelFolder("a/1"), {}, { max_batch_size: "many" });
  expect(await load("a")).toMatchObject({ status: 500, text: expect.stringContaining("max_batch_size") });
});

test("a model passes over options that other models need, and over no misspelt ones", async () => {
  const path = modelFolder("a/1");
  const forOthers = { python: "/opt/python", requirements: "true", allow_pickle: "true" };
  expect((await (await serve(path, {}, forOthers)).load("a")).status).toBe(200);
  expect(await (await serve(path, {}, { requirement: "true" })).load("a")).toMatchObject({
    status: 500,
    text: expect.stringContaining('No driver has the option \\"requirement\\"'),
  });
});

test("a model's name has a limit", async () => {
  const { load } = await serve(modelFolder("a"));
  const refused = { status: 500, text: expect.stringContaining("name has 1025 characters; expected 1024 at most") };
  expect(await load("n".repeat(1025), `${ROOT}/a`)).toMatchObject(refused);
  expect((await load("n".repeat(1024), `${ROOT}/a`)).status).toBe(200);
});

test("models are loaded, listed, run and unloaded by their names", async () => {
  const { server, ask, load } = await serve(modelFolder("a/1", "a/2", "b", "c/model/x/00000123"));
  expect((await ask("GET", "/ping")).status).toBe(200);
  expect(await ask("GET", "/models")).toEqual({ status: 200, text: "{}" });
  const ports = [server.httpUrl, server.grpcAddress].map((address) => address?.split(":").at(-1));
  expect(await load("a")).toEqual({
    status: 200,
    text: JSON.stringify({
      success: `Successfully loaded model a, listening on rest port ${ports[0]} and grpc port ${ports[1]}.`,
    }),
  });
  expect([(await load("b")).status, (await load("c")).status]).toEqual([200, 200]);
  expect(await load("a")).toMatchObject({ status: 409, text: expect.stringContaining("Model a is already loaded.") });
  const listed = JSON.parse((await ask("GET", "/models")).text) as Record<string, { model_version_status: object[] }>;
  const counts = Object.entries(listed).map(([name, { model_version_status: versions }]) => [name, versions.length]);
  expect(counts).toEqual([
    ["a", 2],
    ["b", 1],
    ["c", 1],
  ]);
  expect(JSON.parse((await ask("GET", "/models/b")).text)).toMatchObject({
    model: { model_version_status: [{ version: "1", state: "AVAILABLE" }] },
  });
  const attributes = { "x-amzn-sagemaker-custom-attributes": "tfs-model-version=123" };
  expect((await ask("POST", "/models/c/invoke", "1", attributes)).text).toContain("2.5");
  expect(await ask("DELETE", "/models/c")).toEqual({
    status: 200,
    text: '{"success":"Successfully unloaded model c."}',
  });
  expect(await ask("POST", "/models/c/invoke", "1")).toMatchObject({
    status: 404,
    text: expect.stringContaining("Model c is not loaded yet."),
  });
  expect((await ask("GET", "/models/c")).status).toBe(404);
  expect(await ask("DELETE", "/models/c")).toMatchObject({
    status: 404,
    text: expect.stringContaining("Model c is not loaded yet"),
  });
  expect((await load("c", `${ROOT}/a`)).status).toBe(200);
});

test("a name is loaded once, however many ask for it together", async () => {
  const { load } = await serve(modelFolder("a"));
  const answers = await Promise.all([load("a"), load("a"), load("a")]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
});

test("only folders below the platform's can be loaded", async () => {
  const path = modelFolder("in/a/1", "out/1", "in/empty/x", "in/two/p/1", "in/two/q/1");
  symlinkSync(join(path, "out"), join(path, "in", "link"));
  const { load } = await serve(join(path, "in"));
  const outside = [`${ROOT}/../out`, `${ROOT}/a/../../out`, `${ROOT}/link`, join(path, "out"), "/", "out", "../out"];
  for (const url of [...outside, ROOT, "", `${ROOT}/nothing`, `${ROOT}/two`, `${ROOT}/a\0`, "s3://bucket/a"]) {
    expect([url, await load("x", url)]).toEqual([
      url,
      { status: 404, text: expect.stringContaining("Could not find valid base path ") },
    ]);
  }
  expect((await load("x", join(path, "in/a"))).status).toBe(200);
});

test("a body without a name or a folder is refused", async () => {
  const { ask } = await serve(modelFolder("a"));
  for (const body of ["", "null", "[1", '{"model_name":"a"}', '{"model_name":"","url":"/opt/ml/models/a"}']) {
    expect(await ask("POST", "/models", body)).toMatchObject({
      status: 500,
      text: expect.stringContaining("The body does not load a model; send"),
    });
  }
});

test("a model that does not load leaves its name free, and one without room is a 507", async () => {
  const path = modelFolder("a");
  mkdirSync(join(path, "broken/1"), { recursive: true });
  writeFileSync(join(path, "broken/1/model.onnx"), "no model");
  const { ask, load } = await serve(path);
  expect((await load("broken")).status).toBe(500);
  expect([(await ask("GET", "/models")).text, (await load("broken", `${ROOT}/a`)).status]).toEqual(["{}", 200]);
  const small = await serve(path, { modelMemoryBytes: 10 });
  expect(await small.load("a")).toMatchObject({ status: 507, text: expect.stringContaining("Memory exhausted: ") });
});

test.each(missingListeners() === undefined ? [1, 2] : [1])(
  "an invocation has to say its model, with %d listeners",
  async (listeners) => {
    const { server, ask, load } = await serve(modelFolder("a"), { listeners });
    const { port } = new URL(server.httpUrl as string);
    expect((await load("a")).text).toContain(`rest port ${port} and`);
    expect(await ask("POST", "/invocations", "1")).toMatchObject({
      status: 400,
      text: expect.stringContaining("Invocation request does not contain model name."),
    });
    const attributes = { "x-amzn-sagemaker-custom-attributes": "tfs-model-name=a" };
    expect((await ask("POST", "/invocations", "1", attributes)).text).toContain("2.5");
    expect((await ask("POST", "/models/%zz/invoke", "1")).status).toBe(400);
  },
);

test("handlers beside a model, or around all, answer its invocations with its name", async () => {
  const path = modelFolder("a/1", "b/1");
  const handler = (text: string) =>
    `export const handler = (data, { model_name }) => ["${text} " + model_name, "a/b"];`;
  for (const [folder, text] of [
    [".", "all"],
    ["b", "own"],
  ] as const) {
    mkdirSync(join(path, folder, "code"));
    writeFileSync(join(path, folder, "code/inference.ts"), handler(text));
  }
  const { ask, load } = await serve(path);
  await Promise.all([load("a"), load("b")]);
  const texts = [(await ask("POST", "/models/a/invoke", "1")).text, (await ask("POST", "/models/b/invoke", "1")).text];
  expect(texts).toEqual(["all a", "own b"]);
});

test("these calls alone are open: not to pages, nor to unknown callers, nor those of other protocols", async () => {
  const path = modelFolder("a");
  const { ask, load } = await serve(path);
  const body = { model_name: "a", url: `${ROOT}/a` };
  expect((await ask("POST", "/models", body, { origin: "https://else.where" })).status).toBe(403);
  await load("a");
  expect((await ask("POST", "/v2/repository/models/a/unload", "{}")).status).toBe(403);
  const known = await serve(path, { auth: await authFiles() });
  expect((await known.ask("POST", "/models", body)).status).toBe(401);
  expect((await known.ask("POST", "/models", body, { authorization: bearer(TOKENS.user) })).status).toBe(403);
});

test("the page of the API has these calls where there is a platform", async () => {
  const { ask } = await serve(modelFolder());
  const pathsOf = ({ text }: { text: string }) => Object.keys(JSON.parse(text).paths);
  const calls = ["/models", "/models/{name}", "/models/{name}/invoke"];
  expect(pathsOf(await ask("GET", "/docs/openapi.json"))).toEqual(expect.arrayContaining(calls));
});

test("without a platform there are no such calls", async () => {
  const server = await openServer(withDefaults({ http: {} }), new NamedModels({}));
  onTestFinished(() => server.close());
  expect((await fetch(`${server.httpUrl}/models`)).status).toBe(404);
});
