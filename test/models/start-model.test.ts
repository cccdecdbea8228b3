import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { defineDriver } from "../../src/drivers/driver.ts";
import type { RawOptions } from "../../src/drivers/option-table.ts";
import { findDriver, inThisThread } from "../../src/drivers/registry.ts";
import type { ModelHost } from "../../src/models/model-host.ts";
import type { StartModelOptions } from "../../src/models/model-to-load.ts";
import { startModel } from "../../src/models/start-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { toNested } from "../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import { createTensors } from "../../src/tensor/tensor.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Adds 1 to x; certain values of x make it misbehave. */
const DRIVER = `
import { appendFileSync, statSync } from "node:fs";
import { createTensor, defineDriver } from "kserving";
const MEETING = import.meta.dirname + "/meeting";
const meet = async () => {
  appendFileSync(MEETING, ".");
  while (statSync(MEETING).size < 2) await new Promise((resolve) => setTimeout(resolve, 5));
};
export default defineDriver({
  name: "moody",
  options: {},
  pathless: true,
  environment: { KSERVING_MOODY: "set", PATH: "kept as it is" },
  load: async (path, options, host) => ({
    signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1] }], outputs: [{ name: "y", dtype: "float32", shape: [-1] }] } },
    hookArgs: { count: 3, tools: { add: async (a, b) => a + b, tensor: async () => createTensor("int64", [1], BigInt64Array.of(7n)) } },
    predict: async ({ x }) => {
      const [first] = x.data;
      if (first === -1) throw new Error("broken at /srv/models/a.bin");
      if (first === -2) process.exit(3);
      if (first === -3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5000);
      if (first === -6) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      if (first === -4) await new Promise((resolve) => setTimeout(resolve, 200));
      if (first === -7) await meet();
      if (first === -8) host.reportStuck();
      if (first === -9) host.reportStuck()();
      if (first === -5) setTimeout(() => { throw new Error("stray"); });
      return { y: createTensor("float32", x.shape, x.data.map((value) => value + 1)) };
    },
    close: async () => {},
  }),
});`;

async function start(options: Partial<StartModelOptions> = {}, raw: RawOptions = {}): Promise<ModelHost> {
  const found = await findDriver(join(tempFolder({ "moody.ts": DRIVER }), "moody.ts"));
  const log = createSilentLogger();
  const host = await startModel({ found, path: "", options: raw }, { instances: 1, modelStallMs: 0, log, ...options });
  onTestFinished(async () => {
    await host.close().catch(() => {});
    await found.dispose();
  });
  return host;
}

const predict = async (host: ModelHost, inputs: Values, signal = new AbortController().signal) => {
  const { y } = await host.handle.predict(
    toTensors(inputs, () => "float32"),
    { signature: "serving_default", signal },
  );
  return y && toNested(y, (element) => element);
};

/** Asks until the model answers again. */
async function predictOnceReplaced(host: ModelHost): Promise<unknown> {
  const end = performance.now() + 20_000;
  while (performance.now() < end) {
    const answer = await predict(host, { x: [1] }).catch(() => undefined);
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the model was not replaced");
}

describe("a model in a thread", () => {
  test("answers, many at once, each its own", async () => {
    const host = await start();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, x) => predict(host, { x: [x] })));
    expect(answers).toEqual(Array.from({ length: 100 }, (_, x) => [x + 1]));
  });

  test("refuses inputs that do not fit, and says why", async () => {
    const host = await start();
    await expect(predict(host, { z: [1] })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/has no input "z".* It takes x float32\[-1\]/),
    });
  });

  test("gives hooks data and functions, which cross threads with tensors", async () => {
    const { handle } = await start();
    const { count, tools } = handle.hookArgs as {
      count: number;
      tools: { add(a: number, b: number): Promise<number>; tensor(): Promise<object> };
    };
    expect(count).toBe(3);
    expect(await tools.add(2, 3)).toBe(5);
    expect(await tools.tensor()).toEqual({ dtype: "int64", shape: [1], data: BigInt64Array.of(7n) });
  });

  test("that throws fails that request alone, without paths", async () => {
    const host = await start();
    await expect(predict(host, { x: [-1] })).rejects.toMatchObject({
      code: "internal",
      message: "The moody model failed: broken at (path)",
    });
    expect(await predict(host, { x: [1] })).toEqual([2]);
  });

  test.each([
    ["ends", -2],
    ["throws an error that is not caught", -5],
  ])("that %s is replaced, and what was under way fails", async (_, x) => {
    const host = await start();
    const fatal = predict(host, { x: [x] }).catch((reason) => expect(reason.code).toBe("unavailable"));
    await expect(predict(host, { x: [-4] })).rejects.toMatchObject({ code: "unavailable" });
    await fatal;
    expect(await predictOnceReplaced(host)).toEqual([2]);
    expect(host.isReady()).toBe(true);
  });

  test("that hangs is left alone and replaced", async () => {
    const host = await start({ modelStallMs: 300 });
    const stuck = predict(host, { x: [-3] }).catch((reason) => reason.code);
    expect(await stuck).toBe("unavailable");
    expect(await predictOnceReplaced(host)).toEqual([2]);
    await expect(host.close()).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  test("that reports itself as stuck is replaced, not one that takes the report back", async () => {
    const host = await start({ modelStallMs: 300 });
    const replaced = new Promise<void>((resolve) =>
      host.onReconnect(
        () => resolve(),
        () => {},
      ),
    );
    expect(await predict(host, { x: [-9] })).toEqual([-8]);
    expect(await predict(host, { x: [-8] })).toEqual([-7]);
    await replaced;
    expect(await predict(host, { x: [1] })).toEqual([2]);
    await host.close();
  });

  test("finds the environment that its driver names, with the values that were there", async () => {
    const path = process.env.PATH;
    onTestFinished(() => void delete process.env.KSERVING_MOODY);
    await start();
    expect([process.env.KSERVING_MOODY, process.env.PATH]).toEqual(["set", path]);
  });

  test("finishes what is under way before it closes, and refuses more", async () => {
    const host = await start();
    const under = predict(host, { x: [-4] });
    const closed = host.close();
    expect(await under).toEqual([-3]);
    await closed;
    await expect(predict(host, { x: [1] })).rejects.toMatchObject({ code: "unavailable" });
  });

  test("with instances runs as many at once", async () => {
    const host = await start({ instances: 2 });
    // Each waits until the other runs.
    expect(await Promise.all([predict(host, { x: [-7] }), predict(host, { x: [-7] })])).toEqual([[-6], [-6]]);
  });

  test("answers all of a batch before it runs the next", async () => {
    const host = await start({}, { max_batch_size: "2" });
    const answered: number[] = [];
    const asked = [-6, -6, -6, -6].map((x) => predict(host, { x: [x] }).then(() => answered.push(performance.now())));
    await Promise.all(asked);
    const [first, second, third] = answered as [number, number, number];
    expect(second - first).toBeLessThan((third - first) / 2);
  });

  test("batches what waits where that is wanted", async () => {
    const host = await start({}, { max_batch_size: "64" });
    const answers = await Promise.all([-4, 1, 2, 3].map((x) => predict(host, { x: [x] })));
    expect(answers).toEqual([[-3], [2], [3], [4]]);
  });
});

test("a request of more rows than one may have is refused, where it is said how many that are", async () => {
  const host = await start({}, { max_batch_size: "2", max_request_rows: "3" });
  expect(await predict(host, { x: [1, 2, 3] })).toEqual([2, 3, 4]);
  await expect(predict(host, { x: [1, 2, 3, 4] })).rejects.toMatchObject({
    code: "invalid_argument",
    message: "Task size 4 is larger than maximum input batch size 3",
  });
});

test("options that cannot work are refused while the model loads", async () => {
  await expect(start({}, { max_batch_size: "4", allowed_batch_sizes: "1,2" })).rejects.toThrow(
    "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 2; expected 4",
  );
  await expect(start({}, { flexible_batch_size: "true" })).rejects.toThrow(
    /flexible_batch_size needs inputs with one fixed first dimension/,
  );
});

test("an output that the model does not have is the asker's fault", async () => {
  const { handle } = await start();
  const call = { signature: "serving_default", signal: new AbortController().signal, outputs: ["z"] };
  await expect(
    handle.predict(
      toTensors({ x: [1] }, () => "float32"),
      call,
    ),
  ).rejects.toMatchObject({
    code: "invalid_argument",
    message: "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
  });
});

test("a request of an inline model leaves its batch at once, which goes on for the others", async () => {
  const [begun, opened] = [createDeferred<number>(), createDeferred<void>()];
  const driver = defineDriver({
    name: "slow",
    options: {},
    pathless: true,
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1] }] } },
      predict: async ({ x }) => {
        begun.resolve(x?.data.length ?? 0);
        await opened.promise;
        return createTensors([["y", x!]]);
      },
      close: async () => {},
    }),
  });
  const log = createSilentLogger();
  const source = { found: inThisThread(driver), path: "", options: { max_batch_size: "4" } };
  const host = await startModel(source, { instances: 1, modelStallMs: 0, log });
  const client = new AbortController();
  const [stays, leaves] = [predict(host, { x: [1] }), predict(host, { x: [2] }, client.signal)];
  expect(await begun.promise).toBe(2);
  client.abort(new Error("gone"));
  await expect(leaves).rejects.toThrow("gone");
  opened.resolve();
  expect(await stays).toEqual([1]);
  await host.close();
});

/** Runs in the main thread by itself, and says where it runs; -1 has it be ready, or not ready any more. */
const INLINE = `
import { isMainThread } from "node:worker_threads";
import { createTensor, defineDriver } from "kserving";
const spec = (name) => [{ name, dtype: "float32", shape: [-1] }];
let isReady = true;
export default defineDriver({
  name: "inline",
  options: {},
  placement: "inline",
  load: async () => ({
    signatures: { serving_default: { inputs: spec("x"), outputs: spec("y") } },
    processIds: () => [4711],
    isReady: () => isReady,
    predict: async ({ x }) => {
      if (x.data[0] === -1) isReady = !isReady;
      return { y: createTensor("float32", [1], Float32Array.of(isMainThread ? 1 : 0)) };
    },
    close: async () => {},
  }),
});`;

test("a model beside a tokenizer has its own thread, which reports its processes, where the driver needs none", async () => {
  const folder = tempFolder({ "inline.ts": INLINE, "model.bin": "", "tokenizer.json": "{}" });
  const found = await findDriver(join(folder, "inline.ts"));
  onTestFinished(() => found.dispose());
  const startWith = async (options: RawOptions) => {
    const source = { found, path: join(folder, "model.bin"), options };
    const host = await startModel(source, { instances: 1, modelStallMs: 0, log: createSilentLogger() });
    onTestFinished(() => host.close());
    return host;
  };
  const plain = await startWith({ texts: "false" });
  expect(await predict(plain, { x: [0] })).toEqual([1]);
  const host = await startWith({});
  expect(await predict(host, { x: [0] })).toEqual([0]);
  expect([host.isReady(), host.threads?.()]).toEqual([true, { ready: 1, missing: 0, lost: 0, pids: [4711] }]);
  await predict(host, { x: [-1] });
  await expect.poll(() => host.isReady()).toBe(false);
  await predict(host, { x: [-1] });
  await expect.poll(() => host.isReady()).toBe(true);
});
