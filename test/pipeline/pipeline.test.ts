import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { HookContext } from "../../src/hooks/hooks.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryShare } from "../../src/platform/limits/memory/memory-share.ts";
import { toTensor, toTensors } from "../../src/tensor/plain-value.ts";
import { loadPipeline, nullModels, plain, run, runPipeline } from "../helpers/run-pipeline.ts";

/** A hook that appends its name to the list under `trace`. */
const note = (name: string) => (values: object, ctx: HookContext) => {
  ctx.trace = [...(ctx.trace ?? []), name];
  return { ...values, trace: ctx.trace };
};

describe("a chain of models", () => {
  test("runs pre1, post1, pre2, post2 in this order", async () => {
    const hooks = { preprocess: [note("pre1"), note("pre2")], postprocess: [note("post1"), note("post2")] };
    expect(await runPipeline(hooks, { x: 1 }, 2)).toEqual({ x: 1, trace: ["pre1", "post1", "pre2", "post2"] });
  });

  test("passes values by where a slot is null", async () => {
    const hooks = { preprocess: [note("pre1"), null], postprocess: [null, note("post2")] };
    expect(await runPipeline(hooks, { x: 1 }, 2)).toEqual({ x: 1, trace: ["pre1", "post2"] });
  });

  test("returns its inputs without hooks", async () => {
    const { servable } = await loadPipeline({ stages: nullModels(3) });
    const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors({ x: [1.5, 2] }) });
    expect(outputs).toEqual({ kind: "tensors", tensors: toTensors({ x: [1.5, 2] }) });
  });

  test("counts what a codec thread makes of a large JSON text, until it is there", async () => {
    const { servable } = await loadPipeline({ stages: nullModels(1) });
    const json = Buffer.from(`{"x":[${"{},".repeat(50_000)}{}]}`);
    const text = String(json);
    const counted: number[] = [];
    class CountedShare extends MemoryShare {
      override grow(bytes: number): void {
        counted.push(bytes);
      }
      override shrink(bytes: number): void {
        counted.push(-bytes);
      }
    }
    const budget = new MemoryBudget(1e9);
    const memory = new CountedShare(budget, budget.clients.none);
    const { outputs } = await run(servable, { kind: "json", json: Uint8Array.from(json) }, { memory });
    expect(outputs.kind === "json" && Buffer.from(outputs.json).toString()).toBe(text);
    const [grown = 0, shrunk] = counted;
    expect(grown).toBeGreaterThan(50_000 * 64);
    expect(shrunk).toBe(-grown);
  });

  test("gives a large answer as it was when its hook was done, which uses its memory again for the next one", async () => {
    const own = new Float32Array(2_000_000);
    const { servable } = await loadPipeline({ hooks: { postprocess: ({ x }: { x: number }) => ({ y: own.fill(x) }) } });
    const values = [1, 2, 3].map(async (x) => {
      // Each comes in a turn of its own.
      for (let turn = 0; turn < x; turn++) await nextTurn();
      const { outputs } = await run(servable, { kind: "json", json: Buffer.from(JSON.stringify({ x })) });
      return new Set(JSON.parse(String(outputs.kind === "json" && Buffer.from(outputs.json))).y);
    });
    expect(await Promise.all(values)).toEqual([new Set([1]), new Set([2]), new Set([3])]);
  });

  test("gives what was asked for and names what it has not", async () => {
    const { servable } = await loadPipeline({ hooks: { postprocess: () => ({ a: 1, b: 2 }) } });
    const inputs = { kind: "tensors", tensors: {} } as const;
    const { outputs } = await run(servable, inputs, { outputs: ["b"] });
    expect(outputs).toEqual({ kind: "tensors", tensors: toTensors({ b: 2 }) });
    await expect(run(servable, inputs, { outputs: ["c"] })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "output tensor alias not found in signature: c Outputs expected to be in the set {a,b}.",
    });
  });
});

describe("skipping", () => {
  const seen = (values: object) => ({ seen: Object.keys(values).join() });

  test.each([
    ["true", true],
    ["1", 1],
    ["a tensor", toTensors({ x: true }).x],
    ["a typed array", Uint8Array.of(1)],
    ["an array", [0, 1]],
  ])("leaves the model out for %s, and postprocess gets the stage's inputs without the marker", async (_, marker) => {
    const hooks = {
      preprocess: (values: object) => ({ ...values, "ml-serving-ignore": marker as never }),
      postprocess: seen,
    };
    expect(await runPipeline(hooks, { x: 1, y: 2 })).toEqual({ seen: "x,y" });
  });

  test.each([
    ["false", false],
    ["0", 0],
    ["an empty array", []],
  ])("runs the model for %s", async (_, marker) => {
    const hooks = {
      preprocess: (values: object) => ({ ...values, "ml-serving-ignore": marker as never }),
      postprocess: seen,
    };
    expect(await runPipeline(hooks, { x: 1 })).toEqual({ seen: "x" });
  });

  test("continues with later stages", async () => {
    const hooks = {
      preprocess: [() => ({ x: 1, "ml-serving-ignore": true }), note("pre2")],
      postprocess: [note("post1"), note("post2")],
    };
    expect(await runPipeline(hooks, {}, 2)).toEqual({ x: 1, trace: ["post1", "pre2", "post2"] });
  });

  test("is refused to clients, as tensor and as JSON", async () => {
    const { servable } = await loadPipeline({});
    const tensors = toTensors({ "ml-serving-ignore": true });
    const json = Buffer.from('{"ml-serving-ignore":true}');
    await expect(run(servable, { kind: "tensors", tensors })).rejects.toThrow(/a client cannot skip/);
    await expect(run(servable, { kind: "json", json })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("the context", () => {
  test("belongs to one request", async () => {
    const { servable } = await loadPipeline({
      hooks: {
        preprocess: async (values, ctx) => {
          ctx.mine = values.x?.data[0];
          await new Promise(setImmediate);
          return values;
        },
        postprocess: (_, ctx) => ({ mine: ctx.mine }),
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, x) => {
        const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors({ x }) });
        return outputs.kind === "tensors" && plain(outputs.tensors).mine;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, (_, x) => x));
  });

  test("carries metadata, request and what init_hook returned, and takes response metadata", async () => {
    const { servable } = await loadPipeline({
      name: "m",
      options: { threshold: "0.5" },
      hooks: {
        options: { threshold: { type: "number", help: "least score" } },
        init_hook: (params) => ({ threshold: Number(params.threshold), paths: params.model_paths }),
        postprocess: (_, ctx) => {
          ctx.response.metadata["x-seen"] = String(ctx.metadata["x-asked"]);
          ctx.response.contentType = "text/plain";
          return { threshold: ctx.global_ctx.threshold, model: ctx.request.model, version: ctx.request.version };
        },
      },
    });
    const result = await run(servable, { kind: "tensors", tensors: {} }, { metadata: { "x-asked": "yes" } });
    expect(result).toMatchObject({ metadata: { "x-seen": "yes" }, contentType: "text/plain" });
    expect(result.outputs.kind === "tensors" && plain(result.outputs.tensors)).toEqual({
      threshold: 0.5,
      model: "m",
      version: 1n,
    });
  });

  test("gives each hook its own driver's arguments", async () => {
    const hooks = {
      preprocess: (_: object, __: HookContext, args: { driver: { name: string }; model_outputs?: string[] }) => ({
        driver: args.driver.name,
        outputs: args.model_outputs ?? ["none"],
      }),
    };
    expect(await runPipeline(hooks, {})).toEqual({ driver: "null", outputs: [] });
  });
});

describe("process", () => {
  test("replaces the chain and calls the models as it likes", async () => {
    const hooks = {
      process: async (_: object, ctx: HookContext) => {
        const answers = await Promise.all(ctx.drivers.map((driver, index) => driver.predict({ index })));
        return { sum: answers.reduce((sum, { index }) => sum + Number(index?.data[0]), 0), count: answers.length };
      },
    };
    expect(await runPipeline(hooks, {}, 3)).toEqual({ sum: 3, count: 3 });
  });
});

describe("hooks that fail", () => {
  const failing = async (hook: () => unknown) => {
    const error = await runPipeline({ preprocess: hook as never }, { x: 1 }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ServingError);
    return { code: error.code, message: error.message };
  };

  test.each([
    [
      "undefined",
      () => undefined,
      "The hook preprocess returned undefined (is a return, or an await, missing?); expected an object of values by name.",
    ],
    ["a number", () => 3, "The hook preprocess returned a number; expected an object of values by name."],
    ["an array", () => [1], "The hook preprocess returned a bare Array; expected an object of values by name."],
    ["null", () => null, "The hook preprocess returned null; expected an object of values by name."],
    [
      "a bare tensor",
      () => toTensors({ x: 1 }).x,
      "The hook preprocess returned a bare tensor; expected an object of values by name.",
    ],
  ])("by returning %s get a message that says so", async (_, hook, message) => {
    expect(await failing(hook)).toEqual({ code: "internal", message });
  });

  test("by throwing an Error give its message, without paths of the server", async () => {
    const hook = () => {
      throw new Error("cannot read /srv/secret/labels.txt: it is gone");
    };
    expect(await failing(hook)).toEqual({
      code: "internal",
      message: "The hook preprocess failed: cannot read (path): it is gone",
    });
  });

  test("by rejecting or throwing a value that is not an Error differ from success", async () => {
    expect((await failing(() => Promise.reject(new Error("late")))).message).toBe("The hook preprocess failed: late");
    expect((await failing(() => Promise.reject("just text"))).message).toBe("The hook preprocess failed: just text");
    expect((await failing(() => Promise.reject(undefined))).message).toBe("The hook preprocess failed: undefined");
  });

  test("by throwing a ServingError choose the client's status", async () => {
    const hook = () => {
      throw new ServingError("not_found", "no such face");
    };
    expect(await failing(hook)).toEqual({ code: "not_found", message: "no such face" });
  });

  test("by returning what is no tensor are named, with the place", async () => {
    expect(await failing(() => ({ boxes: [[1, 2], [3]] }))).toEqual({
      code: "internal",
      message:
        "The hook preprocess gave the model what it does not take: boxes[1] has 1 elements, but its first neighbour has 2; a tensor cannot be ragged.",
    });
    const { message } = await failing(() => ({ when: Promise.resolve(1) }));
    expect(message).toMatch(/when is a Promise; .* Was an await forgotten\?/);
  });
});

describe("a request that is over", () => {
  test("runs no further stage", async () => {
    const abort = new AbortController();
    let second = false;
    const { servable } = await loadPipeline({
      stages: nullModels(2),
      hooks: {
        preprocess: [
          (values) => {
            abort.abort();
            return values;
          },
          (values) => {
            second = true;
            return values;
          },
        ],
      },
    });
    const inputs = { kind: "tensors", tensors: toTensors({ x: 1 }) } as const;
    await expect(run(servable, inputs, { signal: abort.signal })).rejects.toMatchObject({ code: "cancelled" });
    expect(second).toBe(false);
  });
});

describe("JSON requests", () => {
  const runJson = async (hooks: object | undefined, body: string) => {
    const { servable } = await loadPipeline(hooks ? { hooks } : {});
    const { outputs } = await run(servable, { kind: "json", json: Buffer.from(body) });
    return outputs.kind === "json" && JSON.parse(Buffer.from(outputs.json).toString());
  };

  test("reach hooks as plain values and go back as hooks return them", async () => {
    const hooks = {
      preprocess: ({ who }: { who: { name: string } }) => ({ hello: who.name, list: [{ a: 1 }, "b", null] }),
    };
    expect(await runJson(hooks, '{"who":{"name":"Ada"}}')).toEqual({ hello: "Ada", list: [{ a: 1 }, "b", null] });
  });

  test("pass an echoing model unchanged", async () => {
    const body = { nested: { a: [1, "x", null] }, flag: true };
    expect(await runJson(undefined, JSON.stringify(body))).toEqual(body);
  });

  test("may answer tensors, big integers, bytes and NaN", async () => {
    const hooks = {
      postprocess: () => ({
        big: 2n ** 60n,
        half: toTensor([0.5], "half"),
        raw: Buffer.from([0xff, 0x00]),
        nan: Number.NaN,
      }),
    };
    const { servable } = await loadPipeline({ hooks });
    const { outputs } = await run(servable, { kind: "json", json: Buffer.from("{}") });
    expect(outputs.kind === "json" && Buffer.from(outputs.json).toString()).toBe(
      '{"big":1152921504606846976,"half":[0.5],"raw":"/wA=","nan":null}',
    );
  });

  test.each(["", "nonsense", "[1]", "3", '{"a":1} x', "\xff"])("are refused when the body is %j", async (body) => {
    await expect(runJson(undefined, body)).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("are refused when they nest deeper than anyone can walk, and brackets in texts are no nesting", async () => {
    const nested = (levels: number) => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    await expect(runJson(undefined, nested(500_000))).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The body is nested more than 1000 levels deep.",
    });
    expect(await runJson(undefined, nested(900))).toEqual(JSON.parse(nested(900)));
    const text = JSON.stringify({ a: `${"[{".repeat(5000)}"\\` });
    expect(await runJson(undefined, text)).toEqual(JSON.parse(text));
  });

  test("are refused when they would take much more memory than their text, before they take it", async () => {
    const lists = (count: number) => `{"a":[${"[],".repeat(count)}1]}`;
    await expect(runJson(undefined, lists(8_000_000))).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The values of the body would take 549 MB in memory, of which 256 are allowed;/),
    });
    expect(await runJson(undefined, lists(1000))).toEqual(JSON.parse(lists(1000)));
  });
});
