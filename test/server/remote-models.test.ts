import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import type { ModelSources } from "../../src/serving/repository/config-sources.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { makeTarball } from "../storage/runtimes/make-tarball.ts";
import { useS3 } from "../storage/set-env.ts";
import { startS3, TOY_KEY } from "../storage/start-s3.ts";
import { startWeb } from "../storage/start-web.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");
const HOOKS = "export const postprocess = (outputs) => ({ hooked: outputs.y });";

let buckets = 0;

async function openBucket(objects: Readonly<Record<string, Uint8Array | string>>) {
  const bucket = `models-${buckets++}`;
  const s3 = await startS3(bucket, objects);
  useS3(s3.endpoint);
  return { s3, root: `s3://${bucket}` };
}

async function serve(sources: ModelSources) {
  const { log, events } = createEventLog();
  const options = { modelCache: tempFolder(), storagePollMs: 30, loadRetryMs: 30, http: {}, log };
  const server = await openServer(withDefaults(options), new RepositorySource(sources, { pollMs: 30, log }));
  onTestFinished(() => server.close());
  const states = () =>
    server
      .models()
      .map(({ name, version, state }) => `${name} ${version} ${state}`)
      .sort();
  return { server, states, events };
}

async function predict(url: string | undefined, name: string): Promise<unknown> {
  const body = JSON.stringify({ instances: [1, 5] });
  const response = await fetch(`${url}/v1/models/${name}:predict`, { method: "POST", body });
  return response.json();
}

describe("a bucket of models", () => {
  test("is served as a folder is: versions come, change and go", async () => {
    const { s3, root } = await openBucket({ "repo/half/1/m.onnx": HALF, "repo/other.onnx": HALF });
    const { server, states } = await serve({ folders: [`${root}/repo`] });
    expect(states()).toEqual(["half 1 AVAILABLE", "other 1 AVAILABLE"]);
    expect(await predict(server.httpUrl, "half")).toEqual({ predictions: [2.5, 4.5] });
    s3.objects.set("repo/half/2/m.onnx", HALF);
    await expect.poll(states, { interval: 20 }).toEqual(["half 1 END", "half 2 AVAILABLE", "other 1 AVAILABLE"]);
    s3.objects.set("repo/half/2/note.txt", "changed");
    await expect
      .poll(() => server.models().find(({ version }) => version === 2n)?.generation, { interval: 20 })
      .toBe(2);
    s3.objects.delete("repo/half/2/m.onnx");
    s3.objects.delete("repo/half/2/note.txt");
    await expect.poll(states, { interval: 20 }).toContain("half 1 AVAILABLE");
    expect(states()).not.toContain("half 2 AVAILABLE");
    s3.objects.delete("repo/other.onnx");
    await expect.poll(states, { interval: 20 }).not.toContain("other 1 AVAILABLE");
  });

  test("stays served while the server of the bucket fails, and each message about it comes once", async () => {
    const { s3, root } = await openBucket({ "half/1/m.onnx": HALF });
    const { server, states, events } = await serve({ folders: [`${root}/half`] });
    s3.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    const told = () => events.filter(({ msg }) => String(msg).includes("answers 503"));
    await expect.poll(() => s3.requests.length, { interval: 20 }).toBeGreaterThan(8);
    expect(new Set(told().map(({ msg }) => msg)).size).toBe(told().length);
    expect(states()).toEqual(["half 1 AVAILABLE"]);
    expect(await predict(server.httpUrl, "half")).toEqual({ predictions: [2.5, 4.5] });
  });
});

test("a download that fails is the version's error, is tried again, and holds up no other model", async () => {
  const { s3, root } = await openBucket({ "half.onnx": HALF, "other.onnx": HALF });
  let isBroken = true;
  s3.fault = (request, response) => {
    if (!isBroken || !request.url?.endsWith("/half.onnx")) return false;
    response.writeHead(403).end("<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
    return true;
  };
  const file = `${tempFolder({
    "serving.yaml": JSON.stringify({
      models: ["half", "other"].map((name) => ({ name, path: `${root}/${name}.onnx` })),
    }),
  })}/serving.yaml`;
  const { server, states, events } = await serve({ files: [file] });
  expect(states()).toEqual(["half 1 LOADING", "other 1 AVAILABLE"]);
  const { error } = server.models().find(({ name }) => name === "half") ?? {};
  expect(error?.code).toBe("permission_denied");
  expect(error?.message).toMatch(
    /half\.onnx cannot be read: the server answers 403 \(AccessDenied: no\)\. Check AWS_ACCESS_KEY_ID/,
  );
  isBroken = false;
  await expect.poll(states, { interval: 20 }).toEqual(["half 1 AVAILABLE", "other 1 AVAILABLE"]);
  expect(JSON.stringify(events)).not.toContain(TOY_KEY.secret);
});

test("user, password and signature of an address are in no log, error, status or page", async () => {
  const url = (
    await startWeb((request, response) => {
      const isRefused = request.url?.startsWith("/no") ?? false;
      response.writeHead(isRefused ? 403 : 200).end("not a model");
    })
  ).replace("//", "//ann:geheim@");
  const paths = { damaged: "m.onnx", unknown: "m.xyz", refused: "no.onnx", archive: "m.tar.gz" };
  const models = Object.entries(paths).map(([name, path]) => ({ name, path: `${url}/${path}?sig=s3cret` }));
  const file = join(
    tempFolder({ "serving.yaml": JSON.stringify({ models: [{ name: "good", driver: "null" }, ...models] }) }),
    "serving.yaml",
  );
  const { server, events } = await serve({ files: [file] });
  await expect.poll(() => server.models().filter(({ error }) => error !== undefined).length, { interval: 20 }).toBe(4);
  const { error } = server.models().find(({ name }) => name === "damaged") ?? {};
  expect(error?.message).toMatch(/^"http:\/\/127\.0\.0\.1:\d+\/m\.onnx" is not an ONNX model/);
  const routes = ["/v2/repository/index", "/metrics", "/", ...models.map(({ name }) => `/v1/models/${name}`)];
  const answers = await Promise.all(routes.map(async (route) => (await fetch(`${server.httpUrl}${route}`)).text()));
  const told = JSON.stringify([events, server.models(), answers], (_, value) =>
    typeof value === "bigint" ? 0 : value,
  );
  expect(told).toContain("/m.onnx");
  expect(told).not.toMatch(/geheim|s3cret/);
});

test("an archive and hooks in a bucket make a pipeline", async () => {
  const { root } = await openBucket({
    "m.tar.gz": makeTarball([{ name: "m/half.onnx", text: "" }]),
    "hooks.js": HOOKS,
  });
  const { root: good } = await openBucket({ "half.onnx": HALF, "hooks.js": HOOKS });
  const options = { modelCache: tempFolder(), loadRetries: 0, warmup: [] };
  await expect(startServer({ ...options, stages: [{ path: `${root}/m.tar.gz` }] })).rejects.toThrow();
  const stages = [{ path: `${good}/half.onnx` }];
  const { httpUrl } = await startServer({ ...options, stages, hooks: `${good}/hooks.js` });
  expect(await predict(httpUrl, "default")).toEqual({ predictions: [2.5, 4.5] });
});

test("a configuration in a bucket is read, and again when it changes; its relative paths are in the bucket", async () => {
  const text = (...names: string[]) =>
    JSON.stringify({ models: names.map((name) => ({ name, path: "models/half.onnx" })) });
  const { s3, root } = await openBucket({ "conf/serving.yaml": text("a"), "conf/models/half.onnx": HALF });
  const { states } = await serve({ files: [`${root}/conf/serving.yaml`] });
  expect(states()).toEqual(["a 1 AVAILABLE"]);
  s3.objects.set("conf/serving.yaml", text("a", "b"));
  await expect.poll(states, { interval: 20 }).toEqual(["a 1 AVAILABLE", "b 1 AVAILABLE"]);
});
