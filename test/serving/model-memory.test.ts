import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { FreeMemory } from "../../src/platform/limits/memory/free-memory.ts";
import { Executor } from "../../src/serving/executor.ts";
import type { MemoryShare, ModelMemory } from "../../src/serving/model-memory.ts";

const MB = 2 ** 20;
const needs = (megabytes: number, signal?: AbortSignal) => ({ what: "Version 1 of m", bytes: megabytes * MB, signal });

/** The memory of an executor, with a limit in megabytes, as it finds machine and process. */
function remember(megabytes: number, seen: { free?: () => FreeMemory | undefined; used?: () => number }): ModelMemory {
  const loading = { loadThreads: 1, modelMemoryBytes: megabytes * MB, memoryCheck: seen.free !== undefined };
  return new Executor({ loading, log: createSilentLogger(), ...seen }).memory;
}

/** A limit for some models, those that were unloaded, in order, and how to load one. */
function limited(maxMegabytes: number, free?: FreeMemory) {
  const memory = remember(maxMegabytes, { free: () => free });
  const unloaded: string[] = [];
  const load = async (name: string, megabytes: number, lastUse: number, isIdle = true) => {
    const share = await memory.reserve({ what: name, bytes: megabytes * MB });
    await share.loaded(megabytes * MB);
    return add({ name, megabytes, lastUse, isIdle, share });
  };
  const add = (given: { name: string; megabytes: number; lastUse: number; isIdle: boolean; share: MemoryShare }) => {
    const one = {
      ...given,
      memoryBytes: given.megabytes * MB,
      unload: async () => {
        memory.delete(one);
        unloaded.push(one.name);
        one.share.release();
      },
    };
    memory.add(one);
    return one;
  };
  return { memory, unloaded, load };
}

describe("a model that is to be loaded", () => {
  it("has those unloaded that were not used for longest, and no more of them than it needs", async () => {
    const { memory, unloaded, load } = limited(100);
    await load("old", 30, 2);
    await load("oldest", 30, 1);
    await load("new", 40, 3);
    await memory.reserve(needs(50));
    expect(unloaded).toEqual(["oldest", "old"]);
  });

  it("waits for what is in use, and unloads nothing in vain meanwhile", async () => {
    const { memory, unloaded, load } = limited(100);
    const busy = await load("busy", 80, 1, false);
    await load("idle", 10, 2);
    const share = memory.reserve(needs(50));
    await load("other", 10, 3);
    expect(unloaded).toEqual([]);
    busy.isIdle = true;
    memory.changed();
    await share;
    expect(unloaded).toEqual(["busy"]);
  });

  it("has copies unloaded that were not chosen for another one, which go at the same time", async () => {
    const { memory, unloaded, load } = limited(100);
    const gone = createDeferred<void>();
    for (const [index, name] of ["a", "b", "c", "d"].entries()) {
      const one = await load(name, 25, index);
      one.unload = async () => {
        memory.delete(one);
        unloaded.push(name);
        // As one that is being freed tells it.
        one.memoryBytes = 0;
        await gone.promise;
        one.share.release();
      };
    }
    const first = Promise.all([memory.reserve(needs(40)), memory.reserve(needs(10))]);
    await setImmediate();
    expect(unloaded).toEqual(["a", "b"]);
    const second = memory.reserve(needs(40));
    await setImmediate();
    expect(unloaded).toEqual(["a", "b", "c", "d"]);
    gone.resolve();
    await Promise.all([first, second]);
  });

  it("asks a copy that counts as idle and gives nothing again later, not all the time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { memory, unloaded, load } = limited(100);
    const stuck = await load("stuck", 80, 1);
    stuck.unload = async () => void unloaded.push("in vain");
    const share = memory.reserve(needs(50));
    await vi.advanceTimersByTimeAsync(500);
    expect(unloaded).toEqual(["in vain"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(unloaded).toEqual(["in vain", "in vain"]);
    stuck.share.release();
    await share;
  });

  it("is refused once models in use have not become idle in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { memory, load } = limited(100);
    await load("busy", 80, 1, false);
    const refused = expect(memory.reserve(needs(50))).rejects.toThrow(
      "the models that are in use leave less of 100 MB",
    );
    await vi.advanceTimersByTimeAsync(10_010);
    await refused;
  });

  it("waits no longer than its load", async () => {
    const { memory, load } = limited(100);
    await load("busy", 80, 1, false);
    await expect(memory.reserve(needs(50, AbortSignal.timeout(30)))).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("is refused where it is larger than all may be together, or turns out to be", async () => {
    const { memory } = limited(100);
    const text = "Version 1 of m needs about 101 MB, and all models together may have 100 MB (--model-memory)";
    await expect(memory.reserve(needs(101))).rejects.toThrow(text);
    const share = await memory.reserve(needs(1));
    await expect(share.loaded(101 * MB)).rejects.toThrow(text);
    share.release();
    await memory.reserve({ what: "other", bytes: 100 * MB });
  });

  it("counts as much as it took the last time", async () => {
    const { memory, unloaded, load } = limited(100);
    const share = await memory.reserve(needs(1));
    await share.loaded(60 * MB);
    share.release();
    await load("other", 50, 1);
    await memory.reserve(needs(1));
    expect(unloaded).toEqual(["other"]);
  });

  it("is expected to take less than it took the last time where its files are smaller now", async () => {
    const { memory } = limited(100);
    await (await memory.reserve(needs(40))).loaded(80 * MB);
    await memory.reserve(needs(10));
  });

  it("fails where the memory of the process cannot be read, and the next one does not", async () => {
    const reads = [new Error("too many open files"), 0];
    const used = () => {
      const read = reads.shift();
      if (read instanceof Error) throw read;
      return read ?? 0;
    };
    const memory = remember(100, { used });
    const [first, second] = [memory.reserve(needs(60)), memory.reserve(needs(60))];
    await expect(first).rejects.toThrow("too many open files");
    await second;
  });

  it("is refused where the machine has less free, with numbers", async () => {
    const { memory } = limited(0, { bytes: 3 * MB, of: "this container" });
    await memory.reserve(needs(3)).then((share) => share.release());
    await expect(memory.reserve(needs(4))).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringMatching(/needs about 4 MB, and this container has 3 MB free; .*--memory-check=false/),
    });
  });

  it("waits for loads under way before it is refused, since what they take is not known yet", async () => {
    const free = { bytes: 10 * MB, of: "this machine" as const };
    const { memory } = limited(0, free);
    const first = await memory.reserve({ what: "first", bytes: 8 * MB });
    const second = memory.reserve(needs(4));
    free.bytes = 5 * MB;
    await first.loaded(5 * MB);
    await second;
  });

  it("shares the room with others that come at the same time", async () => {
    const { memory } = limited(100);
    const shares = [1, 2, 3].map(() => memory.reserve(needs(50)));
    const [first] = await Promise.all([shares[0], shares[1]]);
    let isThird = false;
    void shares[2]?.then(() => {
      isThird = true;
    });
    await memory.reserve(needs(0));
    expect(isThird).toBe(false);
    first?.release();
    await shares[2];
  });
});

describe("the size of a model that is an estimate", () => {
  /** A memory of a process that takes so many megabytes at each look. */
  function measuring(...megabytes: number[]) {
    const used = () => (megabytes.shift() ?? 0) * MB;
    return remember(10_000, { used });
  }
  const load = async (memory: ModelMemory, estimate: number, runtime = "onnx") => {
    const share = await memory.reserve(needs(estimate));
    return (await share.loaded(estimate * MB, [runtime])) / MB;
  };

  it("is what the process took more, once its runtime is there, within bounds", async () => {
    const memory = measuring(100, 200, 300, 310, 330, 400, 9000);
    // The library is loaded with the first one.
    expect(await load(memory, 40)).toBe(40);
    expect(await load(memory, 40)).toBe(100);
    expect(await load(memory, 40)).toBe(40);
    expect(await load(memory, 40)).toBe(160);
  });

  it("stays so for small models, and while others load", async () => {
    const memory = measuring(100, 200, 300, 400, 500, 600, 700);
    await load(memory, 40);
    expect(await load(memory, 20)).toBe(20);
    const first = await memory.reserve(needs(40));
    const second = await memory.reserve(needs(50));
    expect([await first.loaded(40 * MB, ["onnx"]), await second.loaded(50 * MB, ["onnx"])]).toEqual([40 * MB, 50 * MB]);
  });
});
