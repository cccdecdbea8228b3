import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { HookContext, Hooks } from "../../src/hooks/hooks.ts";
import { Timeline } from "../../src/observability/timeline.ts";
import { isNotOneAnswer } from "../../src/one-answer.ts";
import type { JsonPayload } from "../../src/pipeline/payload.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { loadServable } from "../../src/serving/repository/load-servable.ts";
import type { Values } from "../../src/tensor/plain-value.ts";
import { CollectedParts, runParts } from "../helpers/collect-parts.ts";
import { loadOptions } from "../helpers/load-options.ts";
import { loadPipeline, nullModels, run, runPipeline } from "../helpers/run-pipeline.ts";

const count = (parts: number) =>
  async function* () {
    for (let x = 1; x <= parts; x++) yield { x };
  };

async function collect(hooks: Hooks, { inputs = {} as Values, models = 1 } = {}) {
  const { servable } = await loadPipeline({ hooks, stages: nullModels(models) });
  const sink = new CollectedParts();
  const end = await runParts(servable, inputs, sink).catch((reason) => reason);
  return { parts: sink.parts, end };
}

describe("hooks that are generators", () => {
  test.each<[string, Hooks]>([
    ["an asynchronous process", { process: count(3) }],
    [
      "a synchronous process",
      {
        *process() {
          for (let x = 1; x <= 3; x++) yield { x };
        },
      },
    ],
    [
      "a synchronous process that yields promises",
      {
        *process() {
          for (let x = 1; x <= 3; x++) yield Promise.resolve({ x });
        },
      },
    ],
    ["a postprocess", { postprocess: count(3) }],
  ])("answer in parts: %s", async (_, hooks) => {
    const { parts, end } = await collect(hooks);
    expect(parts).toEqual([{ x: 1 }, { x: 2 }, { x: 3 }]);
    expect(end).toMatchObject({ parts: 3, outputs: { kind: "tensors", tensors: {} } });
  });

  test("have their parts go through the stages behind them, one by one and in order, and ctx.part has the number", async () => {
    const seen: unknown[] = [];
    const note = (name: string) => (values: Values, ctx: HookContext) => {
      seen.push([name, ctx.part]);
      return values;
    };
    const hooks: Hooks = {
      preprocess: [note("pre1"), note("pre2")],
      postprocess: [
        async function* (_, ctx) {
          seen.push(["first", ctx.part]);
          yield { x: 1 };
          seen.push(["second", ctx.part]);
          yield { x: 2 };
        },
        note("post2"),
      ],
    };
    const { parts } = await collect(hooks, { models: 2 });
    expect(parts).toEqual([{ x: 1 }, { x: 2 }]);
    expect(seen).toEqual([
      ["pre1", undefined],
      ["first", undefined],
      ["pre2", 1],
      ["post2", 1],
      ["second", 1],
      ["pre2", 2],
      ["post2", 2],
    ]);
  });

  test("after several models make parts of parts", async () => {
    const twice: NonNullable<Hooks["process"]> = async function* (values: Values) {
      yield { ...values, y: 1 };
      yield { ...values, y: 2 };
    };
    const { parts, end } = await collect({ postprocess: [count(2), twice] }, { models: 2 });
    expect(parts).toEqual([
      { x: 1, y: 1 },
      { x: 1, y: 2 },
      { x: 2, y: 1 },
      { x: 2, y: 2 },
    ]);
    expect(end).toMatchObject({ parts: 4 });
  });

  test("say so in the description, and others do not", async () => {
    const decoupled = async (hooks: Hooks) => (await loadPipeline({ hooks })).servable.description.decoupled;
    expect(await decoupled({ process: count(1) })).toBe(true);
    expect(await decoupled({ postprocess: [count(1)] })).toBe(true);
    expect(await decoupled({ postprocess: (values) => values })).toBeUndefined();
  });

  test("are asked for the next part only when there is room for it, and may use their buffer again then", async () => {
    const room = createDeferred<void>();
    let asked = 0;
    const hooks: Hooks = {
      async *process() {
        const buffer = new Int32Array(1);
        for (asked = 1; asked <= 2; asked++) yield { x: buffer.fill(asked) };
      },
    };
    const { servable } = await loadPipeline({ hooks });
    const sink = new CollectedParts((number) => (number === 1 ? room.promise : undefined));
    const end = runParts(servable, {}, sink);
    await expect.poll(() => sink.parts.length).toBe(1);
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(asked).toBe(1);
    room.resolve();
    await end;
    expect(sink.parts).toEqual([{ x: [1] }, { x: [2] }]);
  });
});

describe("where one answer is taken", () => {
  test("the only part is the answer, even if its buffer is written again", async () => {
    const hooks: Hooks = {
      async *process() {
        const x = Int32Array.of(1);
        yield { x };
        x.fill(9);
      },
    };
    expect(await runPipeline(hooks, {})).toEqual({ x: [1] });
  });

  test.each([
    [0, "gave no part"],
    [2, "gave more than one part"],
    [1_000_000_000, "gave more than one part"],
  ])("%i parts are refused with what to do, and the generator is left", async (parts, message) => {
    let [last, isLeft] = [0, false];
    const hooks: Hooks = {
      async *process() {
        try {
          for (last = 1; last <= parts; last++) yield { x: last };
        } finally {
          isLeft = true;
        }
      },
    };
    const error = await runPipeline(hooks, {}).catch((reason) => reason);
    expect(error).toMatchObject({ code: "unimplemented", message: expect.stringContaining(message) });
    expect(error.message).toContain("ModelStreamInfer");
    expect(isNotOneAnswer(error)).toBe(true);
    await expect.poll(() => isLeft).toBe(true);
    expect(last).toBeLessThan(3);
  });

  test("collect joins the parts, which are copies", async () => {
    const hooks: Hooks = {
      async *process() {
        const x = new Int32Array(1);
        for (let number = 1; number <= 3; number++) yield { x: x.fill(number) };
      },
      collect: (parts) => ({ all: parts.map(({ x }) => x.data[0]) }),
    };
    expect(await runPipeline(hooks, {})).toEqual({ all: [1, 2, 3] });
  });

  test("collect gets copies of JSON values too, which count as the request's memory until it has ended", async () => {
    const out = { number: 0, list: ["a".repeat(1000)] };
    let held = 0;
    const hooks: Hooks = {
      async *process() {
        for (out.number = 1; out.number <= 3; out.number++) yield out;
      },
      collect: (parts) => {
        held = memory.bytes;
        return { all: parts.map(({ number }) => number as never) };
      },
    };
    const memory = new MemoryBudget(1e9).open();
    const { servable } = await loadPipeline({ hooks });
    const { outputs } = await run(servable, { kind: "json", json: Buffer.from("{}") }, { memory });
    expect(JSON.parse(Buffer.from((outputs as JsonPayload).json).toString())).toEqual({ all: [1, 2, 3] });
    expect(held).toBeGreaterThan(3000);
  });

  test("what collect gives wrong is told by its name", async () => {
    await expect(runPipeline({ process: count(2), collect: () => undefined as never }, {})).rejects.toMatchObject({
      code: "internal",
      message:
        "The hook collect returned undefined (is a return, or an await, missing?); expected an object of values by name.",
    });
  });
});

describe("bad generators", () => {
  const yielding = (value: unknown): Hooks => ({
    async *process() {
      yield { x: 1 };
      yield value as never;
    },
  });

  test.each<[string, Hooks, RegExp]>([
    ["yields undefined", yielding(undefined), /^The hook process yielded undefined as part 2; expected an object/],
    ["yields a bare tensor", yielding(Float32Array.of(1)), /^The hook process yielded a bare Float32Array as part 2/],
    ["yields what cannot be sent", yielding({ x: () => 1 }), /^The hook process returned what cannot be sent: /],
    [
      "returns values",
      {
        async *process() {
          yield { x: 1 };
          return { x: 2 } as never;
        },
      },
      /^The hook process returned a bare Object at its end; .* write yield in place of return/,
    ],
    [
      "throws after its first part",
      {
        async *process() {
          yield { x: 1 };
          throw new Error("no paper");
        },
      },
      /^The hook process failed: no paper$/,
    ],
  ])("one that %s ends the answer after the parts before", async (_, hooks, message) => {
    const { parts, end } = await collect(hooks);
    expect(parts).toEqual([{ x: 1 }]);
    expect(end).toBeInstanceOf(ServingError);
    expect(end).toMatchObject({ code: "internal", message: expect.stringMatching(message) });
  });

  test("one in the place of preprocess is refused when it is loaded", async () => {
    await expect(loadPipeline({ hooks: { preprocess: count(1) as never } })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("preprocess is a generator; expected a function that returns."),
    });
  });

  test("one that a plain function returns is refused with what to write", async () => {
    await expect(runPipeline({ process: () => count(1)() as never }, {})).rejects.toMatchObject({
      message: expect.stringContaining("declare the hook itself as one: async *process"),
    });
  });

  test("one that gives no part in time ends with the hook timeout", async () => {
    const hooks: Hooks = {
      async *process() {
        yield { x: 1 };
        await new Promise(() => {});
      },
    };
    const { hooks: thread } = sliceSettings({ hookTimeoutMs: 50, hookStallMs: 0, hookMemoryMb: 256 });
    const source = { name: "default", version: 1n, stages: nullModels(1), hooks, options: {} };
    const { servable } = await loadServable(source, { ...loadOptions(), thread });
    const sink = new CollectedParts();
    const end = await runParts(servable, {}, sink).catch((reason) => reason);
    const { parts } = sink;
    expect(parts).toEqual([{ x: 1 }]);
    expect(end).toMatchObject({ code: "deadline_exceeded", message: expect.stringContaining("has not given part 2") });
  });
});

describe("a request that ends early", () => {
  const leaving = () => {
    const seen = { isLeft: false, isAborted: false, asked: 0 };
    const hooks: Hooks = {
      async *process(_, ctx) {
        try {
          for (;;) {
            seen.asked++;
            yield { x: seen.asked };
          }
        } finally {
          seen.isLeft = true;
          seen.isAborted = ctx.signal.aborted;
        }
      },
    };
    return { hooks, seen };
  };

  test("has its generator left within one part when it is cancelled", async () => {
    const { hooks, seen } = leaving();
    const { servable } = await loadPipeline({ hooks });
    const abort = new AbortController();
    const sink = new CollectedParts((number) => number === 3 && abort.abort());
    await expect(runParts(servable, {}, sink, { signal: abort.signal })).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => seen).toEqual({ isLeft: true, isAborted: true, asked: 3 });
  });

  test("lets the event loop turn, though its generator and its client wait for nothing", async () => {
    const { servable } = await loadPipeline({ hooks: { process: count(1e9) }, stages: nullModels(1) });
    const left = new AbortController();
    setImmediate(() => left.abort(new ServingError("cancelled", "left")));
    const sink = { write: async () => {} };
    await expect(runParts(servable, {}, sink, { signal: left.signal })).rejects.toThrow("left");
  });

  test("has its generator left when the client takes no more, and fails with the reason", async () => {
    const { hooks, seen } = leaving();
    const { servable } = await loadPipeline({ hooks });
    const sink = new CollectedParts(() => {
      throw new ServingError("unavailable", "no room");
    });
    await expect(runParts(servable, {}, sink)).rejects.toMatchObject({ code: "unavailable", message: "no room" });
    await expect.poll(() => seen.isLeft).toBe(true);
    expect(seen.asked).toBe(1);
  });

  test("is ended when the hooks are closed, with an error", async () => {
    const { hooks, seen } = leaving();
    const { servable } = await loadPipeline({ hooks });
    const sink = new CollectedParts(() => new Promise(() => {}));
    const end = runParts(servable, {}, sink);
    end.catch(() => {});
    await expect.poll(() => sink.parts.length).toBe(1);
    await servable.close();
    await expect(end).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("were closed") });
    expect(seen).toEqual({ isLeft: true, isAborted: true, asked: 1 });
  });

  test("is not begun while the hooks are being closed", async () => {
    const release = createDeferred<void>();
    const hooks: Hooks = {
      async *process() {
        try {
          yield { x: 1 };
        } finally {
          await release.promise;
        }
      },
    };
    const { servable } = await loadPipeline({ hooks });
    const abort = new AbortController();
    const leaving = new CollectedParts(() => abort.abort());
    await expect(runParts(servable, {}, leaving, { signal: abort.signal })).rejects.toThrow();
    const closing = servable.close();
    await expect(runParts(servable, {}, new CollectedParts())).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("were closed"),
    });
    release.resolve();
    await closing;
  });

  test("has its generator end before the hooks are closed", async () => {
    const order: string[] = [];
    const release = createDeferred<void>();
    const hooks: Hooks = {
      async *process() {
        try {
          yield { x: 1 };
        } finally {
          await release.promise;
          order.push("left");
        }
      },
      close_hook: () => order.push("closed"),
    };
    const { servable } = await loadPipeline({ hooks });
    const abort = new AbortController();
    const sink = new CollectedParts(() => abort.abort());
    await expect(runParts(servable, {}, sink, { signal: abort.signal })).rejects.toThrow();
    const closed = servable.close();
    release.resolve();
    await closed;
    expect(order).toEqual(["left", "closed"]);
  });
});

describe("what is measured of a generator", () => {
  test("is its own time, without that of its client, also when its client leaves", async () => {
    const hooks: Hooks = {
      async *process() {
        for (let x = 1; ; x++) yield { x };
      },
    };
    const { servable } = await loadPipeline({ hooks });
    const abort = new AbortController();
    let readMs = 0;
    const sink = new CollectedParts(async (number) => {
      const began = performance.now();
      await setTimeout(50);
      if (number === 2) abort.abort();
      readMs += performance.now() - began;
    });
    const began = performance.now();
    await expect(runParts(servable, {}, sink, { signal: abort.signal })).rejects.toMatchObject({ code: "cancelled" });
    const restMs = performance.now() - began - readMs;
    const [own] = (await servable.statistics()).hooks;
    expect(own).toMatchObject({ hook: "process", times: { counts: expect.arrayContaining([1]) } });
    expect((own?.times.sum ?? 1) * 1000).toBeLessThanOrEqual(restMs);
  });

  test("has what it does after its first part too, and not what its parts go through", async () => {
    const hooks: Hooks = {
      postprocess: [
        async function* (_, ctx) {
          for (let x = 1; x <= 2; x++) yield await ctx.drivers[0]!.predict({ x: Int32Array.of(x) });
        },
        (values) => values,
      ],
    };
    const { servable } = await loadPipeline({ hooks, stages: nullModels(2) });
    const timeline = new Timeline({ span: { traceId: "1".repeat(32), spanId: "2".repeat(16) } });
    await runParts(servable, { x: 0 }, new CollectedParts(), { timeline });
    const { intervals } = timeline;
    const generator = intervals.find(({ kind, stage }) => kind === "postprocess" && stage === 1);
    const parents = (stage: number) =>
      intervals.filter((one) => one.kind === "model" && one.stage === stage).map(({ parent }) => parent);
    expect(parents(1)).toEqual(["2".repeat(16), generator?.id, generator?.id]);
    expect(parents(2)).toEqual(["2".repeat(16), "2".repeat(16)]);
  });
});
