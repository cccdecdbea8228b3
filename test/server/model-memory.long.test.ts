import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { NamedModelOptions } from "../../src/server/named-model.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Two copies, which have threads of their own. */
const HALF = { path: "test/fixtures/models/half-plus-two.onnx", instances: 2 };
/** Room for two models of two threads each, but not for three. */
const FOR_TWO = 60 * 2 ** 20;

async function serve(models: Readonly<Record<string, NamedModelOptions>>, options: Partial<ServerOptions> = {}) {
  const { log, events, find } = createEventLog();
  const server = await startServer({ models, modelMemoryBytes: FOR_TWO, log, ...options });
  const ask = async (model: string) => {
    const body = '{"inputs": {"x": [2.5]}}';
    const answer = await fetch(`${server.httpUrl}/v1/models/${model}:predict`, { method: "POST", body });
    return [answer.status, await answer.text()] as const;
  };
  const told = (msg: string) => events.filter((event) => event.msg === msg).map(({ model }) => model);
  return { server, ask, told, find };
}

describe("models that together are larger than --model-memory", () => {
  it("are all available, and those that were used last are loaded", async () => {
    const { server, ask, told } = await serve({ a: HALF, b: HALF, c: HALF });
    expect(server.models().map(({ state }) => state)).toEqual(["AVAILABLE", "AVAILABLE", "AVAILABLE"]);
    expect(told("model unloaded")).toHaveLength(1);
    for (const name of ["a", "b", "c", "a"]) expect((await ask(name))[0]).toBe(200);
    const before = told("model unloaded").length;
    await ask("b");
    expect(told("model unloaded").slice(before)).toEqual(["c"]);
    await ask("c");
    expect(told("model unloaded").at(-1)).toBe("a");
    expect(told("model loaded on demand").at(-1)).toBe("c");
  });

  it("answer many requests at once, each model in its turn", async () => {
    const { ask } = await serve({ a: HALF, b: HALF, c: HALF });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => ask("abc"[index % 3] as string)));
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]));
  });

  it("are never unloaded in use: others wait", async () => {
    const released = createDeferred<void>();
    let running = 0;
    const preprocess: Hooks["preprocess"] = (inputs) => {
      running++;
      return released.promise.then(() => inputs);
    };
    const hooks: Hooks = { preprocess };
    const slow = { ...HALF, hooks };
    const models = { a: slow, b: slow, c: HALF };
    const { server, ask, told } = await serve(models);
    const held = [ask("a"), ask("b")];
    await expect.poll(() => running, { timeout: 20_000 }).toBe(2);
    const before = told("model unloaded").length;
    const late = ask("c");
    await expect.poll(() => server.inFlight().length, { timeout: 20_000 }).toBe(3);
    await ask("nobody");
    expect(
      told("model unloaded")
        .slice(before)
        .every((name) => name === "c"),
    ).toBe(true);
    released.resolve();
    expect((await Promise.all([...held, late])).map(([status]) => status)).toEqual([200, 200, 200]);
  });
});

describe("a model that is too large", () => {
  it("is refused by its size, and the others are served", async () => {
    const { server, ask } = await serve({ a: HALF, b: { ...HALF, instances: 6 } }, { loadRetries: 0 });
    expect((await ask("a"))[0]).toBe(200);
    expect(server.models()).toMatchObject([
      { name: "a", state: "AVAILABLE" },
      {
        name: "b",
        state: "END",
        error: {
          code: "resource_exhausted",
          message: expect.stringMatching(/^Version 1 of the model b needs about 72 MB/),
        },
      },
    ]);
  });

  it("for the machine is refused before it is loaded, unless that is not to be checked", async () => {
    const path = join(tempFolder({ "huge.onnx": "" }), "huge.onnx");
    truncateSync(path, 2 ** 43);
    const start = (memoryCheck: boolean) => startServer({ models: { huge: { path } }, loadRetries: 0, memoryCheck });
    await expect(start(true)).rejects.toThrow(/needs about 8 TB, and this (machine|container) has [\d.]+ \wB free/);
    await expect(start(false)).rejects.not.toThrow("needs about");
  });
});
