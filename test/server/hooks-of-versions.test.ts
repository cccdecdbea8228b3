import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { NamedModelOptions } from "../../src/server/named-model.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Answers which load of the model it is; a load waits while there is a file "hold" next to the driver. */
const DRIVER = `
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineDriver } from "kserving";
const output = { name: "load", dtype: "float64", shape: [] };
export default defineDriver({
  name: "counting",
  options: {},
  pathless: true,
  placement: "inline",
  load: async (path) => {
    const hold = \`\${path}/../../hold\`;
    while (existsSync(hold)) {
      writeFileSync(hold, "held");
      await delay(5);
    }
    const load = Math.random();
    return {
      signatures: { serving_default: { outputs: [output] } },
      predict: async () => ({ load: { dtype: "float64", shape: [], data: Float64Array.of(load) } }),
      close: async () => {},
    };
  },
});`;
const answering = (value: number | string) =>
  `export const postprocess = ({ load }) => ({ load, answer: ${JSON.stringify(value)} });`;

async function serve(files: Readonly<Record<string, string>>, more: (folder: string) => Partial<NamedModelOptions>) {
  const folder = tempFolder({ "driver.ts": DRIVER, "m/1/data.bin": "", ...files });
  const m = { path: join(folder, "m"), driver: join(folder, "driver.ts"), ...more(folder) };
  const server = await startServer({ models: { m } });
  const ask = async (): Promise<{ answer: unknown; load: number }> => {
    const response = await fetch(`${server.httpUrl}/v1/models/m:predict`, { method: "POST", body: '{"inputs": {}}' });
    const { outputs } = (await response.json()) as { outputs: { answer: unknown; load: number } };
    return outputs;
  };
  const seen = (generation: number, error?: string) =>
    expect
      .poll(() => server.models(), { timeout: 20_000, interval: 10 })
      .toMatchObject([
        { state: "AVAILABLE", generation, ...(error && { error: { message: expect.stringContaining(error) } }) },
      ]);
  const rescan = () => server.service.rescan();
  return { folder, server, ask, seen, rescan };
}

describe("edited hooks", () => {
  it.each([
    ["of a version's folder", "m/1/hooks.ts", () => ({})],
    ["of a model", "shared.ts", (folder: string) => ({ hooks: join(folder, "shared.ts") })],
  ])("%s take over in the model that is loaded; broken ones leave the last good ones", async (_, name, more) => {
    const { folder, server, ask, seen, rescan } = await serve({ [name]: answering("old") }, more);
    const { load } = await ask();
    const file = join(folder, name);
    writeFileSync(file, answering("newer"));
    await rescan();
    await seen(2);
    expect(await ask()).toEqual({ answer: "newer", load });
    writeFileSync(file, "export const postproces = 5;");
    await rescan();
    await seen(2, "postproces");
    expect(await ask()).toEqual({ answer: "newer", load });
    writeFileSync(file, answering("mended"));
    await rescan();
    await seen(3);
    expect(server.models()[0]).not.toHaveProperty("error");
    expect(await ask()).toEqual({ answer: "mended", load });
  });

  it("together with other files load the version again, and so does a request for that", async () => {
    const { folder, server, ask, seen, rescan } = await serve({ "m/1/hooks.ts": answering("old") }, () => ({}));
    const loads = [(await ask()).load];
    writeFileSync(join(folder, "m/1/hooks.ts"), answering("new"));
    writeFileSync(join(folder, "m/1/data.bin"), "more");
    await rescan();
    await seen(2);
    loads.push((await ask()).load);
    writeFileSync(join(folder, "m/1/hooks.ts"), answering("newest"));
    await server.load("m");
    const { answer, load } = await ask();
    expect([answer, new Set([...loads, load]).size]).toEqual(["newest", 3]);
  });

  it("that fail in a load leave no error once they are mended and read again", async () => {
    const { folder, server, ask, seen } = await serve({ "m/1/hooks.ts": answering("old") }, () => ({}));
    writeFileSync(join(folder, "m/1/hooks.ts"), "export const postproces = 5;");
    await expect(server.load("m")).rejects.toThrow("postproces");
    await seen(1, "postproces");
    writeFileSync(join(folder, "m/1/hooks.ts"), answering("mended"));
    await server.reloadHooks();
    expect(server.models()[0]).not.toHaveProperty("error");
    expect((await ask()).answer).toBe("mended");
  });

  it("during a load that has read them before answer once that is over", async () => {
    const { folder, server, ask } = await serve({ "m/1/hooks.ts": answering("old") }, () => ({}));
    writeFileSync(join(folder, "hold"), "");
    const loading = server.load("m");
    await expect.poll(() => readFileSync(join(folder, "hold"), "utf8"), { timeout: 20_000 }).toBe("held");
    writeFileSync(join(folder, "m/1/hooks.ts"), answering("new"));
    const reloading = server.reloadHooks();
    rmSync(join(folder, "hold"));
    await Promise.all([loading, reloading]);
    expect((await ask()).answer).toBe("new");
  });

  it("that a scan has found are not read twice, but for broken ones", async () => {
    const { folder, server, seen, rescan } = await serve({ "m/1/hooks.ts": answering("old") }, () => ({}));
    const since = performance.now();
    writeFileSync(join(folder, "m/1/hooks.ts"), answering("new"));
    await rescan();
    await server.reloadHooks(since);
    await seen(2);
    await server.reloadHooks();
    await seen(3);
    writeFileSync(join(folder, "m/1/hooks.ts"), "export const postproces = 5;");
    await rescan();
    await expect(server.reloadHooks(since)).rejects.toThrow("postproces");
    await seen(3, "postproces");
    await expect(server.reloadHooks(since)).rejects.toThrow("postproces");
  });

  it("that come or go load the version again", async () => {
    const { folder, ask, seen, rescan } = await serve({ "m/1/hooks.ts": answering("own") }, (at) => ({
      hooks: join(at, "shared.ts"),
    }));
    writeFileSync(join(folder, "shared.ts"), answering("shared"));
    const { load } = await ask();
    rmSync(join(folder, "m/1/hooks.ts"));
    await rescan();
    await seen(2);
    const after = await ask();
    expect([after.answer, after.load === load]).toEqual(["shared", false]);
  });
});

test("broken hooks of one pipeline leave the last good ones, and the reason in every status until they are mended", async () => {
  const folder = tempFolder({ "hooks.ts": `export const postprocess = () => ({ answer: "good" });` });
  const file = join(folder, "hooks.ts");
  const server = await startServer({ stages: [{ driver: "null" }], hooks: file });
  const get = async (path: string, body?: string) => {
    const method = body === undefined ? "GET" : "POST";
    return (await fetch(`${server.httpUrl}${path}`, { method, ...(body !== undefined && { body }) })).json();
  };
  const statuses = () => Promise.all([get("/v1/models/default"), get("/v2/repository/index", "{}"), get("/v1/config")]);
  const told = async () => JSON.stringify(await statuses()).match(/Unexpected end of file/g)?.length ?? 0;
  const answer = () => get("/v1/models/default:predict", '{"inputs": 1}');
  const good = [await answer(), await statuses()];
  writeFileSync(file, "export const postprocess = (");
  await expect(server.reloadHooks()).rejects.toThrow("Unexpected end of file");
  expect([await told(), await answer(), server.models()[0]?.state]).toEqual([3, { outputs: "good" }, "AVAILABLE"]);
  expect((await fetch(`${server.httpUrl}/v2/health/ready`)).status).toBe(200);
  writeFileSync(file, `export const postprocess = () => ({ answer: "good" });`);
  await server.reloadHooks();
  expect([await answer(), await statuses()]).toEqual(good);
  expect(server.models()).toMatchObject([{ generation: 2 }]);
});
