import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { EventReader } from "../../src/client/http/read-answer.ts";
import { type ConnectOptions, connect } from "../../src/client/node.ts";
import { ServingError } from "../../src/errors.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { retryInfo } from "../../src/retry-info.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { valuesOf } from "../helpers/collect-parts.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { freePort } from "../helpers/free-port.ts";
import { startServer } from "../helpers/start-server.ts";

const inputs: NonNullable<Hooks["inputs"]> = [{ name: "to", dtype: "int32", shape: [1] }];

/** Waits before a number of a counting model. */
type Wait = (value: number, signal: AbortSignal) => Promise<unknown>;

/** Counts up to a number, and says how far it has come. */
function counting(next: Wait = () => Promise.resolve()) {
  const seen = { made: 0, ended: 0 };
  const hooks: Hooks = {
    inputs,
    async *process({ to }, { signal }) {
      try {
        for (let value = 0; value < Number(to?.data[0]); value++) {
          if (value > 0) await next(value, signal);
          if (value === 99) throw new Error("there is no ninety-nine");
          seen.made++;
          yield { value: Int32Array.of(value) };
        }
      } finally {
        seen.ended++;
      }
    },
  };
  return { hooks, seen };
}

/** Lets three numbers through, and waits for the end of the request then. */
const untilThree: Wait = (value, signal) =>
  value < 3
    ? Promise.resolve()
    : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A model of a server with these hooks, over each transport. */
async function open(scheme: "http" | "grpc", hooks: Hooks, choices: ConnectOptions = {}) {
  const { log, events } = createEventLog();
  const server = await startServer({ models: { m: { driver: "null", hooks } }, log, accessLog: true });
  const address = scheme === "http" ? server.httpUrl : `grpc://${server.grpcAddress}`;
  const models = connect(address, choices);
  onTestFinished(() => models.$close());
  const logged = () => events.filter(({ msg }) => msg === "request").map(({ status }) => status);
  return { models, m: models.m!, server, logged, address };
}

/** The next part; undefined at the end. */
async function nextOf(parts: AsyncGenerator<Tensors, void, undefined>): Promise<Tensors | undefined> {
  const next = await parts.next();
  return next.done === true ? undefined : next.value;
}

/** Passes connections on to a server until `cut` is called, which ends them as the end of its machine does. */
async function startCable(address: string) {
  const { hostname, port } = new URL(address.replace("grpc:", "http:"));
  const ends = new Set<Socket>();
  const cable = createServer((near) => {
    const far = connectTcp(Number(port), hostname);
    for (const end of [near, far]) {
      ends.add(end);
      end.on("error", () => {});
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(cable, "listening");
  onTestFinished(() => void cable.close());
  const cut = () => {
    cable.close();
    for (const end of ends) end.resetAndDestroy();
  };
  return { address: address.replace(/:\d+$/, `:${(cable.address() as AddressInfo).port}`), cut };
}

describe.each(["http", "grpc"] as const)("a client that reads an answer in parts over %s", (scheme) => {
  test("gets each part before the next one is made, and then the end", async () => {
    const gates = [createDeferred<void>(), createDeferred<void>(), createDeferred<void>()];
    const { hooks, seen } = counting((value) => gates[value]!.promise);
    const { m, logged } = await open(scheme, hooks);
    const values: unknown[] = [];
    for await (const { value } of m.stream({ to: [3] })) {
      values.push(value?.data[0]);
      expect(seen.made).toBe(values.length);
      gates[values.length]?.resolve();
    }
    expect([values, seen]).toEqual([[0, 1, 2], { made: 3, ended: 1 }]);
    await expect.poll(() => logged().at(-1)).toBe(scheme === "http" ? 200 : 0);
  });

  test("gets tensors as of an answer, one part of a model that answers once, and none of one that gives none", async () => {
    const { m, models } = await open(scheme, counting().hooks);
    const expected = createTensor("int32", [1], Int32Array.of(0));
    expect({ ...(await nextOf(m.stream({ to: Int32Array.of(1) }))) }).toEqual({ value: expected });
    expect(await valuesOf(m.stream({ to: [0] }))).toEqual({ values: [], error: undefined });
    const once = await open(scheme, { process: ({ x }) => ({ value: x! }) });
    expect(await valuesOf(once.m.stream({ x: createTensor("int8", [1], Int8Array.of(7)) }))).toEqual({
      values: [7],
      error: undefined,
    });
    const texts = createTensor("bytes", [2], [Uint8Array.of(104, 105), Uint8Array.of(255, 0)]);
    const others = { texts, nan: createTensor("float32", [2, 1], Float32Array.of(Number.NaN, 0.1)) };
    const exact = {
      big: createTensor("int64", [], BigInt64Array.of(2n ** 62n + 1n)),
      none: createTensor("bool", [0], new Uint8Array()),
    };
    const kinds = await open(scheme, { process: (given) => given });
    expect({ ...(await nextOf(kinds.m.stream({ ...others, ...exact }))) }).toEqual({ ...others, ...exact });
    expect((await valuesOf(models.none!.stream({ to: [1] }))).error?.serverText).toContain("none");
  });

  test("gets parts with other outputs than those before, and an error for one that lacks what is wanted", async () => {
    const { m } = await open(scheme, {
      async *process() {
        yield { y: Int32Array.of(1) };
        yield { y: Float32Array.of(1.5, 2), z: "more" };
        yield { z: "less" };
      },
    });
    const x = createTensor("int32", [1], Int32Array.of(0));
    const forms: unknown[] = [];
    for await (const part of m.stream({ x }))
      forms.push(Object.entries(part).map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape}]`));
    expect(forms).toEqual([["y int32 [1]"], ["y float32 [2]", "z bytes []"], ["z bytes []"]]);
    const values: unknown[] = [];
    const reading = (async () => {
      for await (const { y } of m.stream({ x }, { outputs: ["y"] })) values.push(y?.data[0]);
    })();
    await expect(reading).rejects.toMatchObject({ serverText: expect.stringContaining("y") });
    expect(values).toEqual([1, 1.5]);
  });

  test("that leaves after the first part ends what makes them", async () => {
    const { hooks, seen } = counting(() => new Promise(setImmediate));
    const { m, server } = await open(scheme, hooks);
    for (let count = 1; count <= 20; count++) {
      for await (const { value } of m.stream({ to: [90] })) {
        expect(value?.data[0]).toBe(0);
        break;
      }
      await expect.poll(() => seen.ended).toBe(count);
    }
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  test("that gives up by its signal, between parts or while it waits for one, ends it too", async () => {
    const { hooks, seen } = counting(untilThree);
    const { m } = await open(scheme, hooks);
    const between = new AbortController();
    const reading = m.stream({ to: [9] }, between);
    expect((await nextOf(reading))?.value?.data[0]).toBe(0);
    between.abort(new Error("the user left"));
    await expect(reading.next()).rejects.toMatchObject({ code: "cancelled", cause: { message: "the user left" } });
    const waiting = new AbortController();
    const values = valuesOf(m.stream({ to: [9] }, waiting));
    await expect.poll(() => seen.made).toBeGreaterThan(3);
    waiting.abort();
    expect((await values).error?.code).toBe("cancelled");
    await expect.poll(() => m.ready()).toBe(true);
    const already = await valuesOf(m.stream({ to: [9] }, { signal: AbortSignal.abort() }));
    expect(already).toMatchObject({ values: [], error: { code: "cancelled" } });
  });

  test("whose time for the whole answer is up gets the parts until then", async () => {
    const { hooks } = counting(untilThree);
    const { m, server } = await open(scheme, hooks);
    const { values, error } = await valuesOf(m.stream({ to: [9] }, { timeoutMs: 1000 }));
    expect([values, error?.code]).toEqual([[0, 1, 2].slice(0, values.length), "deadline_exceeded"]);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  test("gets the error that follows parts after them, as one before them", async () => {
    const { m } = await open(scheme, counting().hooks);
    const { values, error } = await valuesOf(m.stream({ to: [100] }));
    expect(values).toHaveLength(99);
    expect(error).toBeInstanceOf(ServingError);
    expect([error?.code, error?.isSafeToRetry]).toEqual(["internal", false]);
    expect(error?.serverText).toContain("there is no ninety-nine");
    const before = await valuesOf(m.stream({ wrong: [1] }));
    expect(before).toMatchObject({ values: [], error: { code: "invalid_argument" } });
    expect(before.error?.serverText ?? before.error?.message).toContain("wrong");
  });

  test("of a server that dies in the middle gets the parts until then and an error", async () => {
    const { hooks, seen } = counting(untilThree);
    const { address } = await open(scheme, hooks);
    const cable = await startCable(address);
    const models = connect(cable.address);
    onTestFinished(() => models.$close());
    const values: unknown[] = [];
    const reading = (async () => {
      for await (const { value } of models.m!.stream({ to: [9] })) if (values.push(value?.data[0]) === 3) cable.cut();
    })();
    await expect(reading).rejects.toMatchObject({ code: "unavailable", isSafeToRetry: false });
    expect(values).toEqual([0, 1, 2]);
    expect(seen.made).toBe(3);
  });

  test("that reads slowly keeps the server from making more than fits in between", async () => {
    let made = 0;
    const { m } = await open(scheme, {
      inputs,
      async *process({ to }) {
        for (; made < Number(to?.data[0]); made++)
          yield { value: Int32Array.of(made), rest: Buffer.alloc(200_000, "x") };
      },
    });
    const reading = m.stream({ to: [400] });
    expect((await nextOf(reading))?.value?.data[0]).toBe(0);
    let before = -1;
    const isStill = () => {
      const wasStill = made === before;
      before = made;
      return wasStill;
    };
    await expect.poll(isStill, { interval: 200, timeout: 10_000 }).toBe(true);
    expect(made).toBeLessThan(300);
    const { values } = await valuesOf(reading);
    expect(values).toEqual(Array.from({ length: 399 }, (_, index) => index + 1));
  });

  test("is sent again until its first part, and not after it", async () => {
    let calls = 0;
    const { m } = await open(scheme, {
      inputs,
      async *process({ to }) {
        calls++;
        if (calls < 3) throw new ServingError("unavailable", "full", { details: [retryInfo(2)] });
        yield { value: to! };
        throw new ServingError("unavailable", "full", { details: [retryInfo(2)] });
      },
    });
    const { values, error } = await valuesOf(m.stream({ to: [5] }));
    expect([values, error?.code, error?.isSafeToRetry, calls]).toEqual([[5], "unavailable", false, 3]);
  });

  test("is sent again while no server is there", async () => {
    const port = await freePort();
    const address = `${scheme}://127.0.0.1:${port}`;
    const models = connect(address, { retries: { attempts: 1000, budget: 2000, firstDelayMs: 20 } });
    const once = connect(address, { retries: false });
    onTestFinished(() => {
      models.$close();
      once.$close();
    });
    const two = { to: createTensor("int32", [1], Int32Array.of(2)) };
    const none = await valuesOf(once.m!.stream(two));
    expect(none).toMatchObject({ values: [], error: { code: "unavailable", isSafeToRetry: true } });
    const reading = valuesOf(models.m!.stream(two));
    const ports = scheme === "http" ? { http: { port } } : { port };
    await startServer({ models: { m: { driver: "null", hooks: counting().hooks } }, ...ports });
    expect(await reading).toEqual({ values: [0, 1], error: undefined });
  });
});

test("an event that is longer than a text can be is refused with what to do", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const open = (pieces: string[]) =>
    new EventReader(ReadableStream.from(pieces.map(bytes)), "text/event-stream", "data: 0123456789".length);
  const short = open(["data: 0123456789\n", "\ndata: 01234", "56789\n\n"]);
  expect([await short.next(), await short.next(), await short.next()]).toEqual(["0123456789", "0123456789", undefined]);
  await expect(open(["data: 0123456789", "\n\ndata: 0123", "456789", "x"]).next()).resolves.toBe("0123456789");
  await expect(open(["data: 0123", "456789x", "\n\n"]).next()).rejects.toMatchObject({
    code: "resource_exhausted",
    message: expect.stringContaining("Connect by gRPC"),
  });
});
