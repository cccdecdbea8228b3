import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";
import { runKserving, startKserving } from "./start-kserving.ts";

const MODEL = "test/fixtures/models/half-plus-two.onnx";
const PORTS = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
const FAST = ["--poll-interval", "0.1"];

/** A hook file whose model answers a text. */
const answering = (text: string) => `export const postprocess = () => ({ said: "${text}" });`;

/** A folder of versions that answer their numbers. */
function versionsOf(...versions: readonly number[]): string {
  const folder = tempFolder();
  for (const version of versions) addVersion(folder, version);
  return folder;
}

/** Adds a version as deployments do: beside the folder, then renamed. */
function addVersion(folder: string, version: number, hooks = answering(String(version))): void {
  mkdirSync(join(folder, ".new"));
  writeFileSync(join(folder, ".new/hooks.ts"), hooks);
  renameSync(join(folder, ".new"), join(folder, String(version)));
}

/** A configuration file of these models; returns how to write it again. */
function configFile(...models: readonly object[]) {
  const path = join(tempFolder(), "serving.yaml");
  const write = (...next: readonly object[]) => writeFileSync(path, JSON.stringify({ models: next }));
  write(...models);
  return { path, write };
}

/** The real program with these flags, and how to ask it. */
async function start(...flags: readonly string[]) {
  const program = startKserving([...PORTS, ...flags]);
  const { http, models } = await program.event("ready");
  const post = (path: string, body: unknown = {}) =>
    fetch(`${http}${path}`, { method: "POST", body: JSON.stringify(body), headers: { connection: "close" } });
  const ask = async (model = "m") => {
    const answer = await post(`/v1/models/${model}:predict`, { inputs: 1 });
    return answer.ok ? ((await answer.json()) as { outputs: string }).outputs : answer.status;
  };
  const says = (text: string | number, model = "m") =>
    expect.poll(() => ask(model), { timeout: 20_000, interval: 20 }).toBe(text);
  return { program, models, http: String(http), post, ask, says };
}

/**
 * Asks hundreds of times in a second, and leaves the program a processor; `stop` returns the different answers, in the
 * order in which each came first.
 */
function keepAsking(ask: () => Promise<string | number>) {
  const answers: (string | number)[] = [];
  let isOver = false;
  const asking = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        answers.push(await ask());
        await pause(10);
      }
    }),
  );
  onTestFinished(() => {
    isOver = true;
  });
  return async () => {
    isOver = true;
    await asking;
    expect(answers.length).toBeGreaterThan(20);
    return [...new Set(answers)];
  };
}

describe("under constant load", () => {
  test("versions come, go and come again without a failed request", async () => {
    const path = versionsOf(1);
    const { path: config } = configFile({ name: "m", path, driver: "null" });
    const { ask, says } = await start("--config", config, ...FAST);
    const stop = keepAsking(ask);
    addVersion(path, 2);
    await says("2");
    // At once: while its files went one by one, it would count as changed.
    renameSync(join(path, "2"), join(tempFolder(), "2"));
    await says("1");
    addVersion(path, 10);
    await says("10");
    expect(await stop()).toEqual(["1", "2", "10"]);
  });

  test("hooks in a version's folder are edited, broken and mended without a failed request", async () => {
    const path = versionsOf(1);
    const { path: config } = configFile({ name: "m", path, driver: "null" });
    const { program, ask, says } = await start("--config", config, ...FAST);
    const stop = keepAsking(ask);
    writeFileSync(join(path, "1/hooks.ts"), answering("edited"));
    await says("edited");
    writeFileSync(join(path, "1/hooks.ts"), "export const postprocess = (");
    await program.output(/model state: [^\n]*hooks\.ts:1:/);
    expect(await ask()).toBe("edited");
    writeFileSync(join(path, "1/hooks.ts"), answering("mended"));
    await says("mended");
    expect(await stop()).toEqual(["1", "edited", "mended"]);
  });

  test("a rewritten configuration moves labels, adds and removes models, and is kept while it is broken", async () => {
    const path = versionsOf(1, 2);
    const model = { name: "m", path, driver: "null", versions: "all" };
    const config = configFile({ ...model, labels: { stable: 1 } });
    const { program, ask, says } = await start("--config", config.path, ...FAST);
    const stop = keepAsking(() => ask("m/labels/stable"));
    config.write({ ...model, labels: { stable: 2 } }, { name: "n", driver: "null" });
    await says("2", "m/labels/stable");
    await says(1, "n");
    writeFileSync(config.path, '{"models": [{"name": "m"');
    await program.output(/The configuration stays as it was: [^\n]*serving\.yaml:1:/);
    expect(await ask("n")).toBe(1);
    config.write({ ...model, labels: { stable: 2 } });
    await says(404, "n");
    expect(await stop()).toEqual(["1", "2"]);
  });
});

test("weights of a split count as soon as they are written, without a reload", async () => {
  const m = { name: "m", path: versionsOf(1, 2), driver: "null" };
  const config = configFile({ ...m, split: { 1: 1, 2: 0 } });
  const { ask, says, http } = await start("--config", config.path, ...FAST);
  expect(await ask()).toBe("1");
  config.write({ ...m, split: { 1: 0, 2: 1 } });
  await says("2");
  const { model_stats: stats } = (await (await fetch(`${http}/v2/models/m/stats`)).json()) as {
    model_stats: readonly { inference_stats: { success: { count: number } } }[];
  };
  // A version that was loaded again would count from the beginning.
  expect(stats.every(({ inference_stats: { success } }) => success.count > 0)).toBe(true);
});

describe("a folder of models", () => {
  test("is served as it is: versions, a flat folder and a file; one that is broken stops no other", async () => {
    const folder = tempFolder({ "broken/model.onnx": "none" });
    for (const name of ["half/00000003", "half/12", "flat"]) mkdirSync(join(folder, name), { recursive: true });
    for (const name of ["half/00000003/m.onnx", "half/12/m.onnx", "flat/model.onnx", "naïve 50%.onnx"])
      copyFileSync(MODEL, join(folder, name));
    const { models, http, program } = await start("--model-repository", folder);
    expect(models).toEqual([
      expect.objectContaining({ name: "broken", problem: expect.stringContaining("is not an ONNX model") }),
      { name: "flat", version: "1", state: "AVAILABLE", drivers: ["onnx"] },
      { name: "half", version: "12", state: "AVAILABLE", drivers: ["onnx"] },
      { name: "naïve 50%", version: "1", state: "AVAILABLE", drivers: ["onnx"] },
    ]);
    for (const name of ["flat", "half/versions/12", "na%C3%AFve%2050%25"]) {
      const answer = await fetch(`${http}/v1/models/${name}:predict`, { method: "POST", body: '{"inputs":{"x":[2]}}' });
      expect(await answer.json()).toEqual({ outputs: [3] });
    }
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("ends the start with --fail-fast where one does not load, or where none does", async () => {
    const folder = tempFolder({ "broken/model.onnx": "none" });
    const none = await runKserving([...PORTS, "--model-repository", folder]);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("model.onnx") });
    mkdirSync(join(folder, "half"));
    copyFileSync(MODEL, join(folder, "half/m.onnx"));
    expect(await runKserving([...PORTS, "--model-repository", folder, "--fail-fast"])).toMatchObject({
      code: none.code,
    });
  });
});

describe("looks on request", () => {
  test("SIGHUP looks at once where there is no polling", async () => {
    const path = versionsOf(1);
    const { path: config } = configFile({ name: "m", path, driver: "null" });
    const { program, ask, says } = await start("--config", config, "--poll-interval", "0");
    addVersion(path, 2);
    program.kill("SIGHUP");
    await program.event("models scanned again");
    await says("2");
    expect(await ask("m/versions/1")).toBe(404);
  });

  test("a negative interval looks at nothing before that", async () => {
    const { path: config } = configFile({ name: "m", path: versionsOf(1), driver: "null" });
    const { program, ask, says } = await start("--config", config, "--poll-interval", "-1");
    expect(await ask()).toBe(404);
    program.kill("SIGHUP");
    await says("1");
  });

  test("--model-control explicit loads the models of --load-model, and those that clients ask for", async () => {
    const [a, b] = [versionsOf(1), versionsOf(2)];
    const driver = "null";
    const { path: config } = configFile({ name: "a", path: a, driver }, { name: "b", path: b, driver });
    const flags = ["--config", config, "--model-control", "explicit", "--load-model", "a"];
    const { ask, says, post } = await start(...flags);
    expect([await ask("a"), await ask("b")]).toEqual(["1", 404]);
    expect((await post("/v2/repository/models/b/load")).status).toBe(200);
    await says("2", "b");
    await post("/v2/repository/models/b/unload");
    await says(404, "b");
    expect((await post("/v2/repository/models/c/load")).status).not.toBe(200);
    const wrong = await runKserving([...PORTS, ...flags.slice(0, 4), "--load-model", "aa"]);
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--load-model is "aa", which no model is'),
    });
  });
});

describe("a model that is a stage of another", () => {
  const chain = { name: "chain", stages: [{ model: "detector" }, { driver: "null" }] };
  const detectorOf = (hooks: string) => ({ name: "detector", driver: "null", hooks });
  const hooksFile = () => join(tempFolder({ "hooks.ts": answering("found") }), "hooks.ts");

  test("is reported when it is removed, returns, and both are unloaded without a failed request", async () => {
    const detector = detectorOf(hooksFile());
    const config = configFile(chain, detector);
    const { program, post, ask, says, http } = await start("--config", config.path, ...FAST);
    expect(await ask("chain")).toBe("found");
    config.write(chain);
    await says(503, "chain");
    const refused = await post("/v1/models/chain:predict", { inputs: 1 });
    expect(await refused.text()).toContain('The model \\"detector\\", which is a stage of this one, is not available');
    const index = (await (await post("/v2/repository/index")).json()) as readonly object[];
    expect(index).toContainEqual({
      name: "chain",
      version: "1",
      state: "UNAVAILABLE",
      reason: expect.stringMatching(/^It needs the model "detector", which is not served\./),
    });
    const status = await (await fetch(`${http}/v1/models/chain`)).json();
    expect(status).toMatchObject({
      model_version_status: [{ state: "AVAILABLE", status: { error_code: "UNAVAILABLE" } }],
    });
    await program.output(/The model chain: A stage of chain is the model \\"detector\\", which is not described/);
    config.write(chain, detector);
    await says("found", "chain");
    const stop = keepAsking(() => ask("chain"));
    config.write({ name: "other", driver: "null" });
    await says(404, "chain");
    expect(await stop()).toEqual(["found", 404]);
  });

  test("is loaded with it on request, and unloaded with it", async () => {
    const { path } = configFile(chain, detectorOf(hooksFile()));
    const flags = ["--config", path, "--allow-control", "--model-control", "explicit", "--load-model", "chain"];
    const { post, ask } = await start(...flags);
    expect([await ask("chain"), await ask("detector")]).toEqual(["found", "found"]);
    const control = (model: string, action: string, parameters = {}) =>
      post(`/v2/repository/models/${model}/${action}`, { parameters }).then(({ status }) => status);
    expect(await control("detector", "unload")).toBe(400);
    expect(await control("chain", "unload", { unload_dependents: true })).toBe(200);
    expect([await ask("chain"), await ask("detector")]).toEqual([404, 404]);
    expect(await control("chain", "load")).toBe(200);
    expect(await control("chain", "unload")).toBe(200);
    expect([await ask("chain"), await ask("detector")]).toEqual([404, "found"]);
  });
});
