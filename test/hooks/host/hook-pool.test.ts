import { getEventListeners, setMaxListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { run } from "../../helpers/run-pipeline.ts";
import { ask, startHookThreads } from "../../helpers/start-hook-threads.ts";

/** A hook that does `body` for requests whose `x` is not 0, and returns its inputs for the others. */
const faulty = (body: string) => `
  export const preprocess = async (inputs: any, ctx: any) => {
    const x = Number(inputs.x.data[0]);
    if (x !== 0) { ${body} }
    return inputs;
  };`;

const fault = async (body: string, options = {}) => {
  const servable = await startHookThreads(faulty(body), { hookStallMs: 400, ...options });
  const error = await ask(servable, { x: 1 }).catch((reason) => reason);
  return { error, next: await ask(servable, { x: 0 }) };
};

describe("a hook that", () => {
  test.each([
    ["throws", `throw new Error("broken");`, "internal", "The hook preprocess failed: broken"],
    ["throws what is no Error", `throw "text";`, "internal", "The hook preprocess failed: text"],
    ["rejects", `await Promise.reject(new Error("late"));`, "internal", "The hook preprocess failed: late"],
    ["throws an object", "throw { code: 42 };", "internal", 'The hook preprocess failed: {"code":42}'],
    [
      "spins forever",
      "for (;;);",
      "unavailable",
      /the hooks' thread has ended\. The hook file blocked its thread for 400 ms .* is there an endless loop\? .* again if another request was the cause\.$/,
    ],
    [
      "ends its thread",
      "process.exit(1);",
      "unavailable",
      /the hooks' thread has ended\. .*\(exit code 1\); does it call process\.exit\(\)\? Throw an error instead\. Send /,
    ],
    [
      "throws an error that is not caught",
      `setTimeout(() => { throw new Error("stray"); }); await new Promise(() => {});`,
      "unavailable",
      /the hooks' thread has ended\. The hook file failed with an uncaught error, while it answered requests\. Catch /,
    ],
    [
      "allocates until its limit",
      "const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()));",
      "unavailable",
      /the hooks' thread has ended\. The hook file used more memory than --hook-memory allows/,
    ],
  ])("%s fails its request, and the next one is answered", async (_, body, code, message) => {
    const { error, next } = await fault(body, { hookMemoryMb: 64, hookStallMs: body.includes("all.push") ? 0 : 400 });
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(next).toEqual({ x: 0 });
  });

  test("never settles fails its request after the hook timeout", async () => {
    const { error, next } = await fault("await new Promise(() => {});", { hookTimeoutMs: 50 });
    expect(error).toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringMatching(/has not returned within 50 ms/),
    });
    expect(next).toEqual({ x: 0 });
  });

  test("leaves a rejection unhandled, or a handle open, answers all the same", async () => {
    const { error, next } = await fault(`void Promise.reject(new Error("stray")); setInterval(() => {}, 1e6);`);
    expect([error, next]).toEqual([{ x: 1 }, { x: 0 }]);
  });

  test("changes its inputs, or returns one tensor under two names, affects no other request", async () => {
    const servable = await startHookThreads(`
      export const preprocess = (inputs: any) => { inputs.x.data[0] = 5; return { x: inputs.x, y: inputs.x }; };`);
    expect(await ask(servable, { x: [1, 2] })).toEqual({ x: [5, 2], y: [5, 2] });
  });
});

test("requests of other threads go on while one thread dies", async () => {
  const servable = await startHookThreads(
    faulty("await new Promise((resolve) => setTimeout(resolve, 20)); if (x === 13) process.exit(1);"),
    { workers: 2 },
  );
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) => ask(servable, { x: index === 20 ? 13 : 1000 + index })),
  );
  const failed = outcomes.filter(({ status }) => status === "rejected");
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.length).toBeLessThanOrEqual(20);
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === "fulfilled") expect(outcome.value).toEqual({ x: 1000 + index });
    else expect(outcome.reason).toMatchObject({ code: "unavailable" });
  }
  expect(await ask(servable, { x: 0 })).toEqual({ x: 0 });
});

describe("requests that a thread was sent before it died", () => {
  const deadly = faulty("process.exit(1);");

  test.each([
    ["another thread", 2],
    ["the one that replaces it", 1],
  ])("are run by %s where it had not begun them, large ones too", async (_, workers) => {
    const servable = await startHookThreads(deadly, { workers });
    const large = new Array<number>(10_000).fill(0);
    const inputs = [{ x: 1 }, { x: 0 }, { x: large }, { x: 0 }, { x: large }];
    const [killer, ...others] = await Promise.allSettled(inputs.map((each) => ask(servable, each)));
    expect(killer).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    expect(others).toEqual(inputs.slice(1).map((value) => ({ status: "fulfilled", value })));
  });

  test("outlive every thread that others end", async () => {
    const servable = await startHookThreads(deadly);
    const killers = [1, 1, 1].map((x) => ask(servable, { x }));
    const others = [0, 0].map((x) => ask(servable, { x }));
    for (const killer of killers) await expect(killer).rejects.toMatchObject({ code: "unavailable" });
    expect(await Promise.all(others)).toEqual([{ x: 0 }, { x: 0 }]);
  });

  test("leave the queue when they are cancelled while they wait for the next thread", async () => {
    const servable = await startHookThreads(`
      import { existsSync, writeFileSync } from "node:fs";
      import { join } from "node:path";
      const mark = join(__dirname, "died.txt");
      export const init_hook = () => (existsSync(mark) ? new Promise(() => {}) : undefined);
      export const preprocess = (inputs: any) => {
        if (inputs.x.data[0] === 0) return inputs;
        writeFileSync(mark, "");
        process.exit(1);
      };`);
    const abort = new AbortController();
    const killer = ask(servable, { x: 1 });
    const waiting = ask(servable, { x: 0 }, abort.signal);
    await expect(killer).rejects.toMatchObject({ code: "unavailable" });
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  });

  test("fail where it had begun them", async () => {
    const servable = await startHookThreads(`
      let begun = 0;
      export const preprocess = async (inputs: any) => {
        if (inputs.x.data[0] === 0) return inputs;
        if (++begun === 2) process.exit(1);
        return new Promise(() => {});
      };`);
    const both = await Promise.allSettled([ask(servable, { x: 1 }), ask(servable, { x: 2 })]);
    for (const each of both) expect(each).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    expect(await ask(servable, { x: 0 })).toEqual({ x: 0 });
  });
});

test("more requests than a thread starts at once wait for their turn, and each gets its own answer", async () => {
  const servable = await startHookThreads(`
    let running = 0;
    let most = 0;
    export const preprocess = async (inputs: any) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return { ...inputs, most };
    };`);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, x) => ask(servable, { x })));
  expect(answers.map(({ x }) => x)).toEqual(Array.from({ length: 100 }, (_, x) => x));
  expect(Math.max(...answers.map(({ most }) => Number(most)))).toBe(32);
});

test("a request of priority 1 overtakes a hundred that wait for a thread", async () => {
  const servable = await startHookThreads(`
    const order: number[] = [];
    export const preprocess = async (inputs: any) => {
      order.push(inputs.x.data[0]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { order: order.slice() };
    };`);
  const askWith = (x: number, priority: number) =>
    servable.run({
      signature: { name: "", spec: undefined },
      inputs: { kind: "tensors", tensors: toTensors({ x }) },
      call: { id: "1", metadata: {}, signal: new AbortController().signal, limits: { priority } },
    });
  const others = Array.from({ length: 132 }, () => askWith(1, 0));
  await Promise.all([askWith(2, 2), askWith(3, 1)]);
  await Promise.all(others);
  const { outputs } = await askWith(4, 0);
  const order = outputs.kind === "tensors" ? Array.from(outputs.tensors.order?.data as Int32Array) : [];
  expect(order.slice(31, 35)).toEqual([1, 3, 2, 1]);
});

test("a request with other inputs does not wait behind all of those that came before it", async () => {
  const servable = await startHookThreads(`
    const order: string[] = [];
    export const preprocess = async (inputs: any) => {
      order.push(Object.keys(inputs)[0]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { place: order.indexOf("y") };
    };`);
  const others = Array.from({ length: 100 }, () => ask(servable, { x: 1 }));
  const { place } = await ask(servable, { y: 1 });
  expect([32, 33]).toContain(place);
  await Promise.all(others);
});

test("a few requests with other inputs begin though a thread has all that it takes of those that wait", async () => {
  const servable = await startHookThreads(`
    let open: () => void;
    let most = 0;
    const gate = new Promise<void>((resolve) => { open = resolve; });
    export const preprocess = async (inputs: any) => {
      most++;
      if (inputs.y?.data[0] === 3) open();
      await gate;
      return { most };
    };`);
  const waiting = Array.from({ length: 50 }, () => ask(servable, { x: 1 }));
  const others = [0, 1, 2, 3].map((y) => ask(servable, { y }));
  expect((await Promise.all(others)).map(({ most }) => most)).toEqual([36, 36, 36, 36]);
  await Promise.all(waiting);
});

test("a cancelled request aborts ctx.signal, and one that waits leaves the queue", async () => {
  const servable = await startHookThreads(`
    let aborted = 0;
    export const preprocess = async (inputs: any, ctx: any) => {
      if (inputs.x.data[0] === 0) return { aborted };
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => { aborted++; resolve(); }));
      return inputs;
    };`);
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const started = Array.from({ length: 40 }, () =>
    ask(servable, { x: 1 }, abort.signal).catch((reason) => reason.code),
  );
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  expect(new Set(await Promise.all(started))).toEqual(new Set(["cancelled"]));
  expect(await ask(servable, { x: 0 })).toEqual({ aborted: 32 });
});

test("a request that waited for a thread leaves nothing on its signal once it is answered", async () => {
  const servable = await startHookThreads("export const preprocess = (inputs: any) => inputs;");
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  await Promise.all(Array.from({ length: 40 }, () => ask(servable, { x: 1 }, signal)));
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("hooks reach models, metadata, request and JSON as in the main thread", async () => {
  const servable = await startHookThreads(
    `
    export const init_hook = async (params: any, ctx: any) => ({ more: await ctx.loadModel("null", "x"), paths: params.model_paths });
    export const preprocess = [(values: any) => values, null];
    export const postprocess = [null, async (values: any, ctx: any) => {
      ctx.response.metadata.seen = ctx.metadata.asked;
      const [own] = Object.values(await ctx.drivers[1].predict({ a: 2 })) as any[];
      const [more] = Object.values(await ctx.global_ctx.more.predict({ a: 3 })) as any[];
      return { own: own.data[0], more: more.data[0], drivers: ctx.drivers.length, id: ctx.request.id, paths: ctx.global_ctx.paths, got: values };
    }];`,
    { stages: [{ driver: "null", path: "a" }, { driver: "null" }] },
  );
  const result = await run(
    servable,
    { kind: "json", json: Buffer.from('{"deep":{"list":[1]}}') },
    { metadata: { asked: "yes" } },
  );
  expect(result.metadata).toEqual({ seen: "yes" });
  expect(result.outputs.kind === "json" && JSON.parse(Buffer.from(result.outputs.json).toString())).toEqual({
    own: 2,
    more: 3,
    drivers: 2,
    id: "1",
    paths: ["a", ""],
    got: { deep: { list: [1] } },
  });
});

describe("hooks that do not start", () => {
  test.each([
    [
      "a throwing init_hook",
      `export const init_hook = () => { throw new Error("no labels"); };`,
      "init_hook failed: no labels",
    ],
    [
      "a wrong number of slots",
      "export const preprocess = [null, null];",
      /preprocess has 2 slots, but there is 1 model;/,
    ],
    ["a module that throws", `throw new Error("early");`, /threw while it was loaded: early/],
  ])("say why: %s", async (_, source, message) => {
    await expect(startHookThreads(source)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });
});

test("close_hook runs when the pipeline ends", async () => {
  const servable = await startHookThreads(`
    import { writeFileSync } from "node:fs";
    import { join } from "node:path";
    export const init_hook = () => join(__dirname, "closed.txt");
    export const close_hook = (file: string) => writeFileSync(file, "closed");
    export const preprocess = (_: any, ctx: any) => ({ file: ctx.global_ctx });`);
  const { file } = await ask(servable, {});
  await servable.close();
  const { readFileSync } = await import("node:fs");
  expect(readFileSync(String(file), "utf8")).toBe("closed");
});

test("a request whose JSON is still being cut when the pipeline ends fails, and waits for nothing", async () => {
  const servable = await startHookThreads("export const preprocess = (inputs: any) => inputs;");
  const json = Buffer.from(JSON.stringify({ x: "a".repeat(2_000_000) }));
  const answer = run(servable, { kind: "json", json });
  await Promise.all([servable.close(), expect(answer).rejects.toMatchObject({ code: "unavailable" })]);
});
