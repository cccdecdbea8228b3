import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import { findDriver } from "../../../src/drivers/registry.ts";
import type { ModelHost } from "../../../src/models/model-host.ts";
import type { StartModelOptions } from "../../../src/models/model-to-load.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { createModelClient } from "../../../src/models/threads/model-client.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { createTensor, type Tensor, type Tensors } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Returns its inputs; the first value of x says what else it does. */
const DRIVER = `
import { writeSync } from "node:fs";
import { createTensor, defineDriver } from "kserving";
export default defineDriver({
  name: "mortal",
  options: { exit: { type: "boolean", default: false } },
  pathless: true,
  load: async (_, { exit }, host) => {
    if (exit) { console.error("no weights"); process.exit(4); }
    host.log.info("loading", { err: new Error("no error at all") });
    console.log("printed");
    return {
      signatures: { serving_default: {} },
      concurrency: 100,
      hookArgs: { pid: process.pid, environment: Object.keys(process.env), tools: { add: async (a, b) => a + b } },
      predict: async (inputs) => {
        const [x] = inputs.x.data;
        if (x === -1) process.kill(process.pid, "SIGSEGV");
        if (x === -2) process.exit(3);
        if (x === -3) for (;;);
        if (x === -4) writeSync(3, Buffer.alloc(64, 0xee));
        if (x === -5) process.kill(process.pid, "SIGSTOP");
        if (x === -6) await new Promise(() => {});
        if (x === -7) globalThis.kept = inputs.large.data;
        if (x === -8) return { x: createTensor("float32", [1], Float32Array.of(globalThis.kept.length)) };
        return inputs;
      },
      close: async () => {},
    };
  },
});`;

interface Started {
  readonly host: ModelHost;
  /** Messages that were logged as errors, warnings or for information. */
  readonly lines: readonly string[];
}

async function start(options: Partial<StartModelOptions> = {}, raw: RawOptions = {}): Promise<Started> {
  const found = await findDriver(join(tempFolder({ "mortal.ts": DRIVER }), "mortal.ts"));
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const log = { ...createSilentLogger(), level: "info", info: note, warn: note, error: note } as const;
  const logger = { ...log, child: () => logger };
  const common = { instances: 1, isolate: true, modelStallMs: 0, log: logger };
  onTestFinished(() => found.dispose());
  const host = await startModel({ found, path: "", name: "fragile", options: raw }, { ...common, ...options });
  onTestFinished(() => host.close());
  return { host, lines };
}

const CALL = { signature: "serving_default", signal: new CancelSource() };
const one = (value: number) => ({ x: createTensor("float32", [1], Float32Array.of(value)) });
const ask = async ({ handle }: Pick<ModelHost, "handle">, value: number) =>
  (await handle.predict(one(value), CALL)).x?.data[0];

const TEXTS = createTensor("bytes", [2], [Buffer.from("ab"), Buffer.alloc(100_000, 7)]);
const bytesTensor = (size: number) => createTensor("uint8", [size], new Uint8Array(size).fill(size % 251));
const isEqual = (tensor: Tensor | undefined, { data }: Tensor<"uint8">) =>
  Buffer.compare((tensor as Tensor<"uint8">).data, data) === 0;

/** Asks until the model answers again. */
async function askOnceReplaced(host: ModelHost): Promise<unknown> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (host.isReady()) return await ask(host, 7);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the process was not replaced");
}

const pidOf = ({ hookArgs }: ModelHost) => (hookArgs as { readonly pid: number }).pid;

describe("a model in a process of its own", () => {
  test("answers with tensors of any size, logs, and gives hooks its functions", async () => {
    const { host, lines } = await start();
    expect(pidOf(host)).not.toBe(process.pid);
    expect(host.facts).toMatchObject({ driver: "mortal", isolated: true });
    const inputs = { x: one(1).x, large: bytesTensor(10_000_000), middle: bytesTensor(602_112), texts: TEXTS };
    const [echoed, ...answers] = await Promise.all([
      host.handle.predict(inputs, CALL),
      ...Array.from({ length: 50 }, (_, x) => ask(host, x)),
    ]);
    expect(answers).toEqual(Array.from({ length: 50 }, (_, x) => x));
    expect(isEqual(echoed.large, inputs.large) && isEqual(echoed.middle, inputs.middle)).toBe(true);
    expect(Buffer.concat(echoed.texts?.data as Uint8Array[]).equals(Buffer.concat(TEXTS.data))).toBe(true);
    const { tools } = host.handle.hookArgs as { tools: { add(a: number, b: number): Promise<number> } };
    expect(await tools.add(2, 3)).toBe(5);
    expect(lines).toEqual(["loading", "printed"]);
  });

  test("sees nothing of later requests in what it returned and kept", async () => {
    const { host } = await start();
    const large = (value: number) => createTensor("uint8", [200_000], new Uint8Array(200_000).fill(value));
    await host.handle.predict({ ...one(-7), large: large(1) }, CALL);
    const { large: echoed } = await host.handle.predict({ ...one(1), large: large(2) }, CALL);
    expect(isEqual(echoed, large(2))).toBe(true);
    expect(await ask(host, -8)).toBe(0);
  });

  test("gets neither the server's descriptors nor its secrets, outlives signals, and ends with its model", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void listener.close());
    process.env.KSERVING_TEST_SECRET = "secret";
    onTestFinished(() => void delete process.env.KSERVING_TEST_SECRET);
    const { host } = await start();
    const { environment } = host.hookArgs as { environment: readonly string[] };
    expect(environment).toContain("PATH");
    expect(environment).not.toContain("KSERVING_TEST_SECRET");
    if (process.platform === "linux") {
      const ownSockets = socketsOf(process.pid);
      expect(socketsOf(pidOf(host)).filter((socket) => ownSockets.includes(socket))).toEqual([]);
      expect(readFileSync(`/proc/${pidOf(host)}/oom_score_adj`, "utf8").trim()).toBe("500");
    }
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"] as const) process.kill(pidOf(host), signal);
    expect(await ask(host, 5)).toBe(5);
    await host.close();
    expect(() => process.kill(pidOf(host), 0)).toThrow("ESRCH");
  });

  test.each([
    ["that crashes", -1, "crashed (SIGSEGV)"],
    ["that ends", -2, "ended with exit code 3"],
    ["that sends what is no message", -4, /^sent a message that is none \(it claims \d+ parts\) and was killed/],
  ])("%s fails its requests with its name and the reason, and is replaced", async (_, value, why) => {
    const { host, lines } = await start();
    const waiting = ask(host, -6);
    const reason = typeof why === "string" ? why.replace(/[()]/g, "\\$&") : why.source.slice(1);
    const message = new RegExp(
      `^The request was lost: the process of the model fragile ${reason}. The model is loaded again.$`,
    );
    await expect(ask(host, value)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(message),
    });
    await expect(waiting).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
    expect(host.isReady()).toBe(false);
    await expect(ask(host, 1)).rejects.toMatchObject({ code: "unavailable" });
    expect(await askOnceReplaced(host)).toBe(7);
    expect(host.threads?.()).toEqual({ ready: 1, missing: 0, lost: 1, pids: [expect.any(Number)] });
    expect(lines).toContainEqual(expect.stringMatching(/^a model's process .*; it is replaced$/));
  });

  test.each([
    ["is stuck", -3],
    ["reads nothing any more", -5],
  ])("that %s is killed and replaced", async (_, value) => {
    const { host } = await start({ modelStallMs: 300 });
    const message = expect.stringMatching(/has hung for 300 ms and was killed/);
    await expect(ask(host, value)).rejects.toMatchObject({ code: "unavailable", message });
    expect(await askOnceReplaced(host)).toBe(7);
  });

  test("is not reached by a thread that sends what is no request, and comes back for other threads too", async () => {
    const { host } = await start();
    const { facts, hookArgs } = host;
    const malformed = new Promise((resolve) => {
      const [port] = host.connect(resolve);
      const writer = new FrameWriter();
      writer.write({ kind: 77, id: 1, meta: undefined, tensors: undefined }, false);
      port?.postMessage(writer.take().frame);
    });
    expect(await malformed).toMatchObject({ message: "it has kind 77, which no model answers" });
    const client = createModelClient({
      facts,
      hookArgs,
      ports: host.connect(() => {}).map((port) => toHostPort(port)),
    });
    host.onReconnect(
      (instance, port, resend) => client.reconnect(instance, toHostPort(port), resend),
      () => {},
    );
    expect(await ask({ handle: client }, 5)).toBe(5);
    const lost = expect(ask({ handle: client }, -6)).rejects.toMatchObject({
      message: expect.stringMatching(/^The request was lost: the process of the model fragile was killed \(SIGKILL\)/),
    });
    // The question is on its way once another one was answered.
    await ask({ handle: client }, 1);
    process.kill(pidOf(host), "SIGKILL");
    await lost;
    await askOnceReplaced(host);
    expect(await ask({ handle: client }, 8)).toBe(8);
    await client.close();
  });

  test("of the null driver answers as in the server", async () => {
    const found = await findDriver("null");
    const common = { instances: 1, isolate: true, modelStallMs: 0, log: createSilentLogger() };
    const host = await startModel({ found, path: "", options: {} }, common);
    onTestFinished(() => host.close());
    expect(host.facts).toMatchObject({ driver: "null", isolated: true, echoes: true });
    expect(await ask(host, 5)).toBe(5);
  });

  test("is not started for a driver that has processes of its own, and the log says so", async () => {
    const load = async () => ({
      signatures: { serving_default: {} },
      predict: async (x: Tensors) => x,
      close: async () => {},
    });
    const driver = { name: "own", options: {}, placement: "inline", isIsolated: true, load } as const;
    const found = { driver, location: { name: "own" }, dispose: async () => {} };
    const lines: string[] = [];
    const log = { ...createSilentLogger(), info: (line: string) => void lines.push(line) };
    const host = await startModel(
      { found, path: "", options: {} },
      { instances: 1, isolate: true, modelStallMs: 0, log },
    );
    onTestFinished(() => host.close());
    expect(host.facts.isolated).toBeUndefined();
    expect(lines).toEqual(["models of the own driver run in processes of their own with and without --isolate"]);
  });

  test("that ends while it loads says why", async () => {
    await expect(start({}, { exit: "true" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "The model's process ended with exit code 4 while it was loading (no weights).",
    });
  });

  test("is ended when its load is cancelled", async () => {
    const message = expect.stringMatching(/was ended, since its load was cancelled/);
    await expect(start({ signal: AbortSignal.abort() })).rejects.toMatchObject({ message });
  });
});

/** The sockets that a process has open, by the system's names for them. */
function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      const target = readlinkSync(join(folder, fd));
      return target.startsWith("socket:") ? [target] : [];
    } catch {
      return [];
    }
  });
}
