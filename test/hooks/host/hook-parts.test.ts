import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { threadMemory } from "../../../src/platform/limits/memory/thread-memory.ts";
import { CollectedParts, runParts } from "../../helpers/collect-parts.ts";
import { ask, fileExists, startHookThreads, startReloadable } from "../../helpers/start-hook-threads.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { answersInParts } from "./parts-contract.ts";

/** A hook file whose process yields numbers from 1 on, as far as `x` says, and marks with files what happens to it. */
const counting = (folder: string, body = "") => `
  import { writeFileSync } from "node:fs";
  const mark = (name, text = "") => writeFileSync(${JSON.stringify(folder)} + "/" + name, String(text));
  export async function* process(inputs, ctx) {
    const last = Number(inputs.x.data[0]);
    let number = 0;
    try {
      while (number < last) {
        number++;
        mark("asked", number);
        ${body}
        yield { number, text: "part " + number };
      }
    } finally {
      mark("left", number + " " + ctx.signal.aborted);
    }
  }`;

async function textOf(path: string): Promise<string> {
  return readFileSync(path, "utf8");
}

describe("a generator in a hook thread", () => {
  answersInParts({
    counting: (folder, isBroken) => counting(folder, isBroken ? 'if (number === 4) throw new Error("no paper");' : ""),
    heading: `
      export async function* process({ x }, ctx) {
        ctx.response.metadata["x-kind"] = "count";
        for (let number = 1; number <= x; number++) yield { number };
      }`,
    patient: `
      export async function* process({ x }) {
        for (let number = 0; number < 50; number++) {
          if (number % 7 === 0) await new Promise(setImmediate);
          yield { x, number };
        }
      }`,
    plain: "export const process = () => ({ number: 7 });",
    start: { workers: 2 },
  });

  test("keeps no place from other requests once its first part has come, whenever its client reads", async () => {
    const servable = await startHookThreads(counting(tempFolder({})));
    const room = createDeferred<void>();
    const sinks = Array.from({ length: 60 }, () => new CollectedParts(() => room.promise));
    const ends = sinks.map((sink) => runParts(servable, { x: 20 }, sink));
    await expect.poll(() => sinks.every(({ parts }) => parts.length === 1)).toBe(true);
    expect(await ask(servable, { x: 1 })).toMatchObject({ number: 1 });
    room.resolve();
    for (const { parts } of await Promise.all(ends)) expect(parts).toBe(20);
  });

  test("is asked for no more than a megabyte ahead, and unread bytes count and are given back", async () => {
    const servable = await startHookThreads(`
      export async function* process(inputs) {
        for (let number = 0; number < 8; number++) yield { x: new Float32Array(150_000).fill(number) };
      }`);
    const budget = new MemoryBudget(1e9);
    const memory = budget.open();
    const room = createDeferred<void>();
    const sink = new CollectedParts(() => room.promise);
    const end = runParts(servable, {}, sink, { memory });
    await expect.poll(() => memory.bytes).toBe(2 * 600_000);
    room.resolve();
    expect((await end).parts).toBe(8);
    expect(memory.bytes).toBe(0);
  });

  test("whose unread parts find no room ends with that error, and gives back what it has", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(counting(folder, "yield { x: new Uint8Array(400_000) };"));
    const budget = new MemoryBudget(1_000_000);
    // A request that is alone may hold more.
    budget.open().grow(900_000);
    const memory = budget.open();
    const sink = new CollectedParts(() => new Promise(() => {}));
    await expect(runParts(servable, { x: 100 }, sink, { memory })).rejects.toMatchObject({ code: "unavailable" });
    expect(memory.bytes).toBe(0);
    await fileExists(`${folder}/left`);
  });

  test("whose parts collect joins has them counted until it has, and fails where there is no room for them", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(`
      import { existsSync, writeFileSync } from "node:fs";
      import { setTimeout } from "node:timers/promises";
      const at = (name) => ${JSON.stringify(folder)} + "/" + name;
      export function* process() {
        for (let number = 0; number < 3; number++) yield { x: new Uint8Array(100_000) };
      }
      export async function collect(parts) {
        writeFileSync(at("joining"), "");
        while (!existsSync(at("go"))) await setTimeout(5);
        return { parts: parts.length };
      }`);
    const budget = new MemoryBudget(1e6);
    const { heldBytes: before, limitBytes } = threadMemory;
    const asked = ask(servable, {});
    await fileExists(`${folder}/joining`);
    expect(threadMemory.heldBytes - before).toBe(1024 * Math.ceil(300_000 / 1024));
    writeFileSync(`${folder}/go`, "");
    expect(await asked).toEqual({ parts: 3 });
    expect(threadMemory.heldBytes).toBe(before);
    threadMemory.add(limitBytes);
    await expect(ask(servable, {})).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("no memory to join the parts"),
    });
    threadMemory.add(-limitBytes);
    expect(threadMemory.heldBytes).toBe(before);
    budget.close();
  });

  test("is left when its client leaves, within one part, and what is unread is given back", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(counting(folder, "await new Promise(setImmediate);"));
    const budget = new MemoryBudget(1e9);
    const memory = budget.open();
    const abort = new AbortController();
    const sink = new CollectedParts((count) => (count === 3 ? new Promise(() => {}) : undefined));
    const end = runParts(servable, { x: 1e9 }, sink, { signal: abort.signal, memory });
    end.catch(() => {});
    await expect.poll(() => memory.bytes).toBeGreaterThan(0);
    abort.abort();
    await expect(end).rejects.toMatchObject({ code: "cancelled" });
    expect(memory.bytes).toBe(0);
    await fileExists(`${folder}/left`);
    // It is there before its text is.
    await expect.poll(() => textOf(`${folder}/left`)).toMatch(/^\d+ true$/);
  });

  test("is left when its parts cannot be written any more, and the reason is that of the request", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(counting(folder));
    const sink = new CollectedParts((count) => {
      if (count === 2) throw new ServingError("unavailable", "the client is gone");
    });
    await expect(runParts(servable, { x: 1e9 }, sink)).rejects.toMatchObject({ message: "the client is gone" });
    await fileExists(`${folder}/left`);
  });

  test.each([
    ["spins for ever", "if (number === 3) for (;;);", { hookStallMs: 400 }, "unavailable", /thread has ended/],
    ["ends its thread", "if (number === 3) globalThis.process.exit(1);", {}, "unavailable", /thread has ended/],
    [
      "waits for what never settles",
      "if (number === 3) await new Promise(() => {});",
      { hookTimeoutMs: 100 },
      "deadline_exceeded",
      /has not given part 3 within 100 ms/,
    ],
    ["yields undefined", "if (number === 3) yield;", {}, "internal", /process yielded undefined as part 3/],
    ["yields what cannot be sent", "if (number === 3) yield { f: () => 1 };", {}, "internal", /what cannot be sent/],
  ])(
    "that %s ends its answer with an error, and the next request is answered",
    async (_, body, options, code, text) => {
      const servable = await startHookThreads(counting(tempFolder({}), body), options);
      const sink = new CollectedParts();
      // Before the third is asked for, those before it have come.
      await expect(runParts(servable, { x: 9 }, sink)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(text),
      });
      expect(sink.parts.length).toBeLessThanOrEqual(2);
      expect(await ask(servable, { x: 1 })).toMatchObject({ number: 1 });
    },
  );

  test("that does not end when it is left does not keep its hooks from being closed", async () => {
    const folder = tempFolder({});
    const servable = await startHookThreads(`
      import { writeFileSync } from "node:fs";
      export async function* process() {
        try { yield { x: 1 }; } finally { await new Promise(() => {}); }
      }
      export const close_hook = () => writeFileSync(${JSON.stringify(`${folder}/closed`)}, "");`);
    const abort = new AbortController();
    const sink = new CollectedParts(() => abort.abort());
    await expect(runParts(servable, {}, sink, { signal: abort.signal })).rejects.toMatchObject({ code: "cancelled" });
    await servable.close();
    await fileExists(`${folder}/closed`);
  });

  test("is ended when hooks that were replaced have had their time, and requests for one answer are not", async () => {
    const folder = tempFolder({});
    const { servable, file } = await startReloadable(`
      import { existsSync } from "node:fs";
      import { setTimeout } from "node:timers/promises";
      export async function* process({ x }, ctx) {
        while (!existsSync(${JSON.stringify(folder)} + "/go")) {
          await setTimeout(5);
          if (Number(x.data[0]) === 0) yield { number: 0 };
        }
        yield { number: 1 };
      }`);
    const sink = new CollectedParts(() => new Promise((resolve) => setImmediate(resolve)));
    const stream = runParts(servable, { x: 0 }, sink);
    stream.catch(() => {});
    const single = ask(servable, { x: 1 });
    await expect.poll(() => sink.parts.length).toBeGreaterThan(2);
    writeFileSync(file, "export const process = () => ({ number: 7 });");
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const reloaded = servable.reload();
    await expect.poll(() => servable.description.decoupled).toBeUndefined();
    vi.advanceTimersByTime(26_000);
    await expect(stream).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("The hooks were replaced"),
    });
    writeFileSync(`${folder}/go`, "");
    expect(await single).toEqual({ number: 1 });
    vi.useRealTimers();
    await reloaded;
  });

  test("loses its answer when the servable is closed meanwhile, with an error", async () => {
    const servable = await startHookThreads(counting(tempFolder({}), "await new Promise(setImmediate);"));
    const sink = new CollectedParts();
    const end = runParts(servable, { x: 1e9 }, sink);
    end.catch(() => {});
    await expect.poll(() => sink.parts.length).toBeGreaterThan(2);
    await servable.close();
    await expect(end).rejects.toMatchObject({ code: "unavailable" });
  });
});
