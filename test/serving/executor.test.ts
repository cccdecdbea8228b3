import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { MAX_TIMER_MS } from "../../src/platform/limits/call-limits.ts";
import { type Executed, Executor } from "../../src/serving/executor.ts";
import type { Use } from "../../src/serving/plan/residence.ts";

const WHY = "others need its memory";

/** An executor on a clock of the test, its copies' actions in order, and its error lines. */
function execute(onError: () => void = () => {}) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const [done, errors]: [string[], string[]] = [[], []];
  const executor = new Executor({
    loading: { loadThreads: 1, modelMemoryBytes: 0, memoryCheck: false },
    log: {
      error: (message) => {
        errors.push(message);
        onError();
      },
    },
  });
  const adopt = (name: string, idleMs = 0, act: (what: string) => void = () => {}) => {
    const there = { isHeld: false, isCurrent: true, isPresent: true, isNeeded: false };
    const use = { idleMs, ...there, lastUse: performance.now() };
    const looks = { count: 0 };
    const copy: Executed & { now: Use } = {
      now: use,
      get use() {
        looks.count++;
        return this.now;
      },
      act(action) {
        done.push(`${name} ${action.do}`);
        act(action.do);
      },
    };
    executor.adopt(copy);
    return { copy, looks };
  };
  return { executor, done, errors, adopt };
}

describe("an event", () => {
  it("has its actions begun before the call returns, one that is told during an action after that", () => {
    const { executor, done, adopt } = execute();
    const { copy: other } = adopt("other");
    const { copy } = adopt("first", 0, (what) => {
      if (what !== "park") return;
      executor.tell(other, { is: "crowded", why: WHY });
      executor.tell(copy, { is: "demanded", isAtOnce: false });
      executor.tell(copy, { is: "freed" });
      done.push("first parked");
    });
    executor.tell(copy, { is: "crowded", why: WHY });
    expect(done).toEqual(["first park", "first parked", "first load", "other park"]);
  });

  it("of a copy that is forgotten counts for nothing, nor does its time", async () => {
    const { executor, done, adopt } = execute();
    const { copy } = adopt("m", 10);
    executor.forget(copy);
    executor.tell(copy, { is: "crowded", why: WHY });
    await vi.advanceTimersByTimeAsync(100);
    expect(done).toEqual([]);
  });
});

test("what waits for another model is planned once after a change of one, when that is whole, and no longer", async () => {
  const { executor } = execute();
  const waiting = {
    ...{ isAwaited: false, isWatching: true, looks: 0 },
    follow() {
      this.looks++;
      return Number.POSITIVE_INFINITY;
    },
  };
  executor.turns.take(waiting);
  executor.turns.changed();
  executor.turns.changed();
  expect(waiting.looks).toBe(1);
  await Promise.resolve();
  expect(waiting.looks).toBe(2);
  waiting.isWatching = false;
  executor.turns.take(waiting);
  executor.turns.changed();
  await Promise.resolve();
  expect(waiting.looks).toBe(3);
});

describe("an action that cannot begin", () => {
  it("is told in the log, reaches neither the other copies nor who told, and is not the end of its copy", async () => {
    const { executor, done, errors, adopt } = execute();
    const { copy: other } = adopt("other");
    const { copy } = adopt("broken", 0, (what) => {
      executor.tell(other, { is: "crowded", why: WHY });
      if (what === "park") throw new Error("no such thing");
    });
    executor.tell(copy, { is: "crowded", why: WHY });
    expect(errors).toEqual(["a model was not changed as it should: no such thing"]);
    expect(done).toEqual(["broken park", "other park"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(done.slice(2).toSorted()).toEqual(["broken abandon", "other abandon"]);
  });
});

describe("a log that fails", () => {
  it("reaches nobody, and is not the end of all plans", async () => {
    const { executor, done, errors, adopt } = execute(() => {
      throw new Error("no space left");
    });
    const { copy } = adopt("broken", 0, () => {
      throw new Error("no such thing");
    });
    const { copy: other } = adopt("other");
    executor.tell(copy, { is: "crowded", why: WHY });
    executor.tell(other, { is: "crowded", why: WHY });
    expect(errors).toHaveLength(1);
    expect(done).toEqual(["broken park", "other park"]);
  });
});

describe("time", () => {
  it("comes for the earliest first, and for a copy whose time has become shorter", async () => {
    const { executor, done, adopt } = execute();
    adopt("late", 300);
    const { copy } = adopt("shorter", 1000);
    adopt("early", 100);
    await vi.advanceTimersByTimeAsync(101);
    expect(done).toEqual(["early park"]);
    copy.now = { ...copy.now, idleMs: 200 };
    executor.look(copy);
    await vi.advanceTimersByTimeAsync(100);
    expect(done).toEqual(["early park", "shorter park"]);
    await vi.advanceTimersByTimeAsync(100);
    expect(done).toEqual(["early park", "shorter park", "late park"]);
  });

  it("is looked at for those copies alone that it has come for", async () => {
    const { done, adopt } = execute();
    const { looks } = adopt("late", 60_000);
    const before = looks.count;
    for (const idleMs of [100, 200, 300]) adopt("early", idleMs);
    await vi.advanceTimersByTimeAsync(400);
    expect([done.length, looks.count]).toEqual([3, before]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(done).toContain("late park");
  });

  it("keeps the process alive while memory is given back, and not longer", () => {
    const { executor, adopt } = execute();
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    adopt("idle", 60_000);
    const [{ copy }, { copy: closed }] = [adopt("m", 50_000), adopt("closed")];
    expect(timers()).toBe(before);
    for (const one of [copy, closed]) executor.tell(one, { is: "crowded", why: WHY });
    expect(timers()).toBe(before + 1);
    executor.forget(closed);
    expect(timers()).toBe(before + 1);
    executor.tell(copy, { is: "freed" });
    expect(timers()).toBe(before);
  });

  it("that is longer than a timer can be comes neither at once nor never", async () => {
    const { done, adopt } = execute();
    const { copy } = adopt("m", MAX_TIMER_MS + 5000);
    await vi.advanceTimersByTimeAsync(MAX_TIMER_MS + 10);
    expect([done, copy.now.isHeld]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(done).toEqual(["m park"]);
  });
});
