import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { findDriver } from "../../src/drivers/registry.ts";
import { ServingError } from "../../src/errors.ts";
import type { ModelHost } from "../../src/models/model-host.ts";
import type { StartModelOptions } from "../../src/models/model-to-load.ts";
import { startModel } from "../../src/models/start-model.ts";
import { createModelClient } from "../../src/models/threads/model-client.ts";
import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { isNotOneAnswer } from "../../src/one-answer.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toHostPort } from "../../src/platform/threads/host-port.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { repeatDriver, repeated } from "../helpers/repeat-driver.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { describeStreams } from "./stream-contract.ts";

type Placement = "inline" | "thread";

const part = (value: number) => ({ y: createTensor("int32", [1], Int32Array.of(value)) });
const samples = {
  one: { inputs: repeated([7]), parts: [part(7)] },
  several: { inputs: repeated([3, 1, 2]), parts: [3, 1, 2].map(part) },
  none: repeated([]),
  endless: repeated([], "endless"),
  failing: { inputs: repeated([1, 2, 3, 4], "throw"), parts: [1, 2, 3].map(part) },
};

describeStreams("a toy in the main thread", { driver: () => repeatDriver("inline"), ...samples });
describeStreams("a toy in a thread", { driver: () => repeatDriver(), ...samples });
describeStreams("a toy in a process", { driver: () => repeatDriver(), place: { isolate: true }, ...samples });

interface Started {
  readonly host: ModelHost;
  readonly warnings: readonly string[];
  /** Number of its generators that are open. */
  open(): Promise<unknown>;
}

async function start(placement: Placement, options: Partial<StartModelOptions> = {}, raw = {}): Promise<Started> {
  const found = await findDriver(repeatDriver(placement));
  const warnings: string[] = [];
  const own = { level: "warn", warn: (message: string) => void warnings.push(message) } as const;
  const log: Logger = { ...createSilentLogger(), ...own, child: () => log };
  const settings = { instances: 1, modelStallMs: 0, log, ...options };
  const host = await startModel({ found, path: "", name: "m", options: raw }, settings);
  onTestFinished(() => found.dispose());
  const { streams } = host.handle.hookArgs as { readonly streams: { open(): Promise<number> } };
  return { host, warnings, open: () => streams.open() };
}

/** Parts that were taken until the run ended, and its error. */
async function run(
  { handle }: Pick<ModelHost, "handle">,
  inputs: Tensors,
  signal = new CancelSource(),
  onPart: () => void = () => {},
) {
  const parts: unknown[] = [];
  const write = async (tensors: Tensors) => {
    parts.push(
      Object.entries(tensors)
        .map(([name, { data }]) => `${name}=${data[0]}`)
        .join(),
    );
    onPart();
  };
  const call = { signature: "serving_default", signal, parts: { write } };
  const error = await handle.predict(inputs, call).then(
    () => undefined,
    (reason) => reason,
  );
  return { parts, error };
}

const PLACES: readonly [string, Placement, Partial<StartModelOptions>][] = [
  ["in the main thread", "inline", {}],
  ["in a thread", "thread", {}],
  ["in a process", "thread", { isolate: true }],
];

describe.each(PLACES)("a model %s", (_, placement, options) => {
  test("has no generator open once runs were left, cancelled, failed or over", async () => {
    const { host, open } = await start(placement, options);
    const signal = new CancelSource();
    const cancelled = run(host, repeated([1], "wait"), signal);
    const enough = new ServingError("cancelled", "enough");
    const parts = { write: () => Promise.reject(enough) };
    const call = { signature: "serving_default", signal: new CancelSource(), parts };
    await expect(host.handle.predict(repeated([], "endless"), call)).rejects.toBe(enough);
    expect((await run(host, repeated([1, 2, 3, 4], "throw"))).error).toBeInstanceOf(ServingError);
    signal.abort(enough);
    expect(await cancelled).toEqual({ parts: ["y=1"], error: enough });
    await vi.waitFor(async () => expect(await open()).toBe(0), 5000);
    await host.close();
  });

  test("says which part is none, after those before", async () => {
    const { host } = await start(placement, options);
    const { parts, error } = await run(host, repeated([1, 2, 3, 4], "undefined"));
    expect(parts).toEqual(["y=1", "y=2"]);
    expect(error).toMatchObject({
      code: "internal",
      message: expect.stringContaining(
        "predictStream of the driver repeat, of the model m, yielded as part 3 undefined",
      ),
    });
    await host.close();
  });

  test("says which part has an output that is not declared, after those before", async () => {
    const { host } = await start(placement, options);
    const { parts, error } = await run(host, repeated([1, 2, 3, 4], "other"));
    expect(parts).toEqual(["y=1", "y=2"]);
    expect(error).toMatchObject({
      code: "internal",
      message: expect.stringContaining('of the model m, in part 3, returned "z"'),
    });
    await host.close();
  });

  test("passes more parts on than may be ahead", async () => {
    const { host } = await start(placement, options);
    const values = Array.from({ length: 1000 }, (_, value) => value);
    expect((await run(host, repeated(values))).parts).toEqual(values.map((value) => `y=${value}`));
    await host.close();
  });

  test("has its runs wait for a place, and gives the place of one that was left to the next", async () => {
    const { host } = await start(placement, options, { places: "1" });
    const signal = new CancelSource();
    const leave = () => signal.abort(new ServingError("cancelled", "left"));
    const holding = run(host, repeated([1], "wait"), signal, leave);
    const waiting = run(host, repeated([2]));
    expect((await holding).error).toMatchObject({ message: "left" });
    expect(await waiting).toEqual({ parts: ["y=2"] });
    await host.close();
  });
});

describe("a run that never ends", () => {
  test("has failed for one that wants one answer at once, and keeps its place", async () => {
    const { host } = await start("inline", {}, { places: "1" });
    const call = { signature: "serving_default", signal: new CancelSource() };
    const failed = await host.handle.predict(repeated([1, 2], "lingers"), call).catch((reason) => reason);
    expect(isNotOneAnswer(failed)).toBe(true);
    const signal = new CancelSource();
    const waiting = run(host, repeated([3]), signal);
    const first = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, "it waits"))]);
    signal.abort(new ServingError("cancelled", "left"));
    expect([first, await waiting]).toEqual([
      "it waits",
      { parts: [], error: expect.objectContaining({ message: "left" }) },
    ]);
  });

  test("is cancelled for its reader at once, is reported, and keeps its place", async () => {
    const { host, warnings } = await start("thread", {}, { places: "2" });
    const signal = new CancelSource();
    const leave = () => signal.abort(new ServingError("cancelled", "left"));
    const { error } = await run(host, repeated([1], "stuck"), signal, leave);
    expect(error).toMatchObject({ message: "left" });
    expect(await run(host, repeated([2]))).toEqual({ parts: ["y=2"] });
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining("has not ended within 2000 ms")]), 8000);
    await run(host, repeated([1, 2, 3, 4], "exit"));
    await vi.waitFor(async () => expect(await run(host, repeated([5]))).toEqual({ parts: ["y=5"] }), 20_000);
    await host.close();
  }, 30_000);
});

describe("a model whose thread or process ends in the middle of a stream", () => {
  test.each([
    ["thread", {}],
    ["process", { isolate: true }],
  ])(
    "fails after the parts that came, and streams again once its %s is replaced",
    async (_, options) => {
      const { host } = await start("thread", options);
      const { parts, error } = await run(host, repeated([1, 2, 3, 4], "exit"));
      // Those of its last moment may be lost with it.
      expect(["y=1", "y=2", "y=3"].slice(0, parts.length)).toEqual(parts);
      expect(error).toMatchObject({ code: "unavailable", message: expect.stringMatching(/^The request was lost: /) });
      await vi.waitFor(async () => expect(await run(host, repeated([5]))).toEqual({ parts: ["y=5"] }), 20_000);
      await host.close();
    },
    30_000,
  );
});

describe("parts from a thread", () => {
  test("come while the model blocks its thread for the next one", async () => {
    const { host } = await start("thread");
    const sign = join(tempFolder(), "read-");
    const write = async ({ y }: Tensors) => writeFileSync(`${sign}${y?.data[0]}`, "");
    const call = { signature: "serving_default", signal: new CancelSource(), parts: { write } };
    expect(await host.handle.predict(repeated([1, 2, 3], `block ${sign}`), call)).toEqual({});
    await host.close();
  });

  test("reach readers on other connections too, without a malformed message", async () => {
    const { host } = await start("thread");
    const { facts, hookArgs } = host;
    const refused = vi.fn();
    const [port] = host.connect(refused);
    const client = createModelClient({ facts, hookArgs, ports: [toHostPort(port!)] });
    expect((await run({ handle: client }, repeated([1, 2]))).parts).toEqual(["y=1", "y=2"]);
    expect(refused).not.toHaveBeenCalled();
    await client.close();
    await host.close();
  });
});

test("options that put requests together, or cut them, are refused", async () => {
  for (const raw of [{ max_batch_size: "8" }, { flexible_batch_size: "true" }])
    await expect(start("inline", {}, raw)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("answers in parts, so that its requests cannot be put together or cut"),
    });
});
