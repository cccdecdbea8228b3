import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { NamedModels } from "../../src/server/named-models.ts";
import { createServer } from "../../src/server/server.ts";
import type { LoadOptions } from "../../src/serving/repository/load-servable.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const TEXT = "test/fixtures/models/identity-string.onnx";

/** A folder of versions of the same model. */
function versionsOf(...versions: number[]): string {
  const folder = tempFolder();
  for (const version of versions) addVersion(folder, version);
  return folder;
}

function addVersion(folder: string, version: number): void {
  mkdirSync(join(folder, String(version)));
  cpSync(HALF, join(folder, String(version), "model.onnx"));
}

async function ask(httpUrl: string | undefined, model: string) {
  const response = await fetch(`${httpUrl}/v1/models/${model}:predict`, {
    method: "POST",
    body: '{"inputs": {"x": [2.5]}}',
  });
  return [response.status, (await response.json()) as { readonly error?: string }] as const;
}

const ANSWER = [200, { outputs: [3.25] }];

test("a model that is taken out while its refresh waits does not stop later changes", async () => {
  const models = new NamedModels({ first: { driver: "null" } });
  const seen: (readonly string[])[] = [];
  await models.start({ log: createSilentLogger() } as LoadOptions, (aspired) => seen.push(aspired.map(toName)));
  const second = { name: "second", path: tempFolder(), versions: "all", labels: {} } as const;
  const replaced = models.replace([second]);
  await Promise.all([replaced, models.refresh("first")]);
  await models.refresh("second");
  expect(seen).toEqual([["first"], ["second"], ["second"], ["second"]]);
});

const toName = ({ name }: { readonly name: string }) => name;

describe("models by name", () => {
  it("answer to the alias on every protocol while there is only one, which then is told by its own name", async () => {
    const server = await startServer({ models: { half: { path: HALF } }, alias: "default" });
    const { httpUrl } = server;
    expect(await ask(httpUrl, "default")).toEqual(ANSWER);
    const status = await (await fetch(`${httpUrl}/v1/models/default`)).text();
    expect(status).toContain('"AVAILABLE"');
    const metadata = (await (await fetch(`${httpUrl}/v2/models/default`)).json()) as { readonly name: string };
    expect(metadata.name).toBe("half");
    expect((await fetch(`${httpUrl}/v2/models/default/ready`)).status).toBe(200);
    const statistics = (await (await fetch(`${httpUrl}/v2/models/default/stats`)).json()) as object;
    expect(statistics).toMatchObject({ model_stats: [{ name: "half", inference_count: 1 }] });
    expect((await ask(httpUrl, "other"))[0]).toBe(404);
    await server.load("second", { path: HALF });
    expect((await ask(httpUrl, "default"))[0]).toBe(404);
  });

  it("are called by the hooks of others", async () => {
    const { httpUrl } = await startServer({
      models: {
        half: { path: HALF },
        twice: {
          driver: "null",
          hooks: {
            process: async ({ x }, ctx) => {
              const { y } = await ctx.models.get("half").predict({ x: x! });
              return ctx.models.get("half").predict({ x: y! });
            },
          },
        },
      },
    });
    expect(await ask(httpUrl, "twice")).toEqual([200, { outputs: [3.625] }]);
  });

  it("are served side by side, each with hooks of its own", async () => {
    const { httpUrl, models } = await startServer({
      models: {
        half: { path: HALF },
        negative: { path: HALF, hooks: { postprocess: ({ y }) => ({ y: [-(y?.data[0] as number)] }) } },
        chain: { stages: [{ driver: "null" }, { path: HALF }] },
      },
    });
    expect(await ask(httpUrl, "half")).toEqual(ANSWER);
    expect(await ask(httpUrl, "negative")).toEqual([200, { outputs: [-3.25] }]);
    expect(await ask(httpUrl, "chain")).toEqual(ANSWER);
    expect(models().map(({ name, version, state }) => [name, version, state])).toEqual([
      ["half", 1n, "AVAILABLE"],
      ["negative", 1n, "AVAILABLE"],
      ["chain", 1n, "AVAILABLE"],
    ]);
    const unnamed = await fetch(`${httpUrl}/v1/models/nope:predict`, { method: "POST", body: '{"inputs": [2]}' });
    expect(await unnamed.text()).toContain("This server has half, negative, chain");
  });

  it("serve the versions of a folder that are asked for, by number and label", async () => {
    const path = versionsOf(1, 2, 10);
    const { httpUrl, models } = await startServer({
      models: {
        latest: { path },
        some: { path, versions: [1, 2], labels: { stable: 1 } },
        all: { path, versions: "all" },
      },
    });
    const served = (name: string) => models().flatMap((one) => (one.name === name ? [Number(one.version)] : []));
    expect([served("latest"), served("some"), served("all")]).toEqual([[10], [2, 1], [10, 2, 1]]);
    expect(models().find(({ labels }) => labels.length > 0)).toMatchObject({ version: 1n, labels: ["stable"] });
    expect(await ask(httpUrl, "all/versions/2")).toEqual(ANSWER);
    expect((await ask(httpUrl, "latest/versions/2"))[0]).toBe(404);
    expect(await ask(httpUrl, "some/labels/stable")).toEqual(ANSWER);
  });
});

describe("a slow model", () => {
  const waiting = { driver: "null", hooks: { preprocess: () => new Promise<never>(() => {}) } };

  it.each([
    [
      "requests",
      { maxQueue: 1 },
      /^The model slow has 1 requests under way already \(its maxQueue\); try again later\.$/,
    ],
    [
      "bytes",
      { maxQueueBytes: 5 },
      /^The model slow has requests under way that hold \d+ bytes \(its maxQueueBytes 5\)/,
    ],
  ])("that has no room for more %s refuses them, and the others go on", async (_, limits, message) => {
    const { httpUrl, inFlight } = await startServer({
      models: { slow: { ...waiting, ...limits }, half: { path: HALF } },
    });
    const cut = new AbortController();
    const url = `${httpUrl}/v1/models/slow:predict`;
    const held = fetch(url, { method: "POST", body: '{"inputs": [1]}', signal: cut.signal });
    await expect.poll(inFlight).toHaveLength(1);
    const [status, answer] = await ask(httpUrl, "slow");
    expect([status, answer.error]).toEqual([503, expect.stringMatching(message)]);
    expect(await ask(httpUrl, "half")).toEqual(ANSWER);
    cut.abort();
    await expect(held).rejects.toThrow();
    await expect.poll(inFlight).toEqual([]);
  });
});

describe("a model that cannot be loaded", () => {
  const bad = { path: "test/fixtures/models/none.onnx" };

  it("does not affect the others, and is reported in its state and in the log", async () => {
    const lines: string[] = [];
    const log: Logger = { ...createSilentLogger(), error: (line) => lines.push(line) };
    const { httpUrl, models } = await startServer({ models: { bad, half: { path: HALF } }, log, loadRetries: 0 });
    expect(await ask(httpUrl, "half")).toEqual(ANSWER);
    expect(models()[0]).toMatchObject({
      name: "bad",
      state: "END",
      error: { message: expect.stringContaining("none.onnx") },
    });
    expect(lines).toEqual([expect.stringMatching(/^model state: .*none\.onnx/)]);
  });

  it("ends the start where it is the only one, none can be, or each has to be", async () => {
    await expect(createServer({ models: { bad } })).rejects.toThrow(/^The model ".*none\.onnx" /);
    await expect(createServer({ models: { bad, worse: bad } })).rejects.toThrow(
      /^2 models could not be loaded\. bad version 1: .* worse version 1: /,
    );
    await expect(createServer({ models: { bad, half: { path: HALF } }, failFast: true })).rejects.toThrow(/none\.onnx/);
  });
});

describe("a running server", () => {
  it("takes new models, other versions and other options, and reports each change", async () => {
    const server = await startServer({ models: {} });
    const events: string[] = [];
    server.onState(({ name, version, state }) => events.push(`${name} ${version} ${state}`));
    const path = versionsOf(1);
    await server.load("m", { path });
    expect(events).toEqual(["m 1 START", "m 1 LOADING", "m 1 AVAILABLE"]);
    addVersion(path, 2);
    const ended = new Promise<void>((resolve) => {
      server.onState(({ version, state }) => void (version === 1n && state === "END" && resolve()));
    });
    await server.load("m");
    await ended;
    expect(events.slice(3)).toEqual(["m 2 START", "m 2 LOADING", "m 2 AVAILABLE", "m 1 UNLOADING", "m 1 END"]);
    await server.load("m", { path, hooks: { postprocess: () => ({ y: [7] }) } });
    expect(await ask(server.httpUrl, "m")).toEqual([200, { outputs: [7] }]);
  });

  it("keeps what it serves where a load fails, and says why", async () => {
    const path = versionsOf(1);
    const server = await startServer({ models: { m: { path } } });
    writeFileSync(join(path, "1", "model.onnx"), "no model");
    await expect(server.load("m")).rejects.toThrow(/model\.onnx/);
    expect(await ask(server.httpUrl, "m")).toEqual(ANSWER);
    expect(server.models()).toMatchObject([
      { state: "AVAILABLE", error: { message: expect.stringContaining("model.onnx") } },
    ]);
    cpSync(HALF, join(path, "1", "model.onnx"));
    await server.load("m");
    expect(server.models()[0]?.error).toBeUndefined();
  });

  it("unloads a model until it is loaded again, and refuses what it does not know", async () => {
    const server = await startServer({ models: { m: { path: HALF }, text: { path: TEXT } } });
    await server.unload("m");
    expect((await ask(server.httpUrl, "m"))[0]).toBe(404);
    expect(server.service.isReady()).toBe(true);
    await server.load("m");
    expect(await ask(server.httpUrl, "m")).toEqual(ANSWER);
    await expect(server.load("nope")).rejects.toThrow('There is no model "nope".');
    await expect(server.load("m", { pth: "x" } as never)).rejects.toThrow('There is no option "models.m.pth"');
  });

  it("names what is not a folder of versions, and loads it once it is one", async () => {
    const path = versionsOf(1);
    const server = await startServer({ models: { ok: { path: HALF } } });
    rmSync(join(path, "1"), { recursive: true });
    await expect(server.load("m", { path })).rejects.toThrow("is empty; expected folders of versions");
    addVersion(path, 3);
    await server.load("m");
    expect(await ask(server.httpUrl, "m/versions/3")).toEqual(ANSWER);
  });
});
