import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import type { InferRequest, InferResponse, Lease, PartSink } from "../../src/serving/inference-service.ts";
import { LocalLease } from "../../src/serving/local-lease.ts";
import { LocalService } from "../../src/serving/local-service.ts";
import { ModelPlaces } from "../../src/serving/model-places.ts";
import type { ServableSource } from "../../src/serving/repository/load-servable.ts";
import { requireSignature } from "../../src/serving/require-signature.ts";
import { preparationTimes, type ServableStatistics } from "../../src/serving/servable-statistics.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { repeatDriver, repeated } from "../helpers/repeat-driver.ts";
import { loadPipeline, plain } from "../helpers/run-pipeline.ts";
import { managePipeline } from "./manage.ts";

const UNLIMITED = { limits: sliceSettings({ maxQueueBytes: 1e6 }).limits, log: createSilentLogger() };

/** A service with one model that answers, after a while, which of its loads it is. */
async function serve() {
  let loads = 0;
  const events: string[] = [];
  const manager = await managePipeline({
    hooks: {
      init_hook: () => ++loads,
      process: async (_, { global_ctx: load }) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        events.push(`answered by ${load}`);
        return { load };
      },
      close_hook: (load) => void events.push(`freed ${load}`),
    },
  });
  return { manager, events, service: new LocalService(manager, UNLIMITED) };
}

async function ask(lease: Lease): Promise<Record<string, unknown>> {
  const signature = requireSignature("", lease.description);
  const call = { id: "1", metadata: {}, signal: new AbortController().signal };
  const { outputs } = await lease.infer({ signature, inputs: { kind: "tensors", tensors: toTensors({ x: 1 }) }, call });
  return outputs.kind === "tensors" ? plain(outputs.tensors) : {};
}

describe.each<[string, () => Partial<ServableSource>]>([
  [
    "a generator among the hooks",
    () => ({
      hooks: {
        async *process() {
          for (let y = 0; y < 3; y++) yield { y };
        },
      },
    }),
  ],
  ["a model", () => ({ stages: [{ driver: repeatDriver("inline") }] })],
])("an answer in parts of %s", (_, source) => {
  test("spends the time that its client takes neither in the model nor on its preparation", async () => {
    const service = new LocalService(await managePipeline(source()), UNLIMITED);
    const lease = service.acquire({ model: "" });
    let takenMs = 0;
    const write = async () => {
      const since = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 30));
      takenMs += performance.now() - since;
    };
    const signature = requireSignature("", lease.description);
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const inputs = { kind: "tensors", tensors: repeated([1, 2, 3]) } as const;
    expect(await lease.infer({ signature, inputs, call, parts: { write } })).toMatchObject({ parts: 3 });
    lease.release();
    const statistics = (await service.statistics())[0] as ServableStatistics;
    const { inputMs, outputMs } = preparationTimes(statistics);
    const ownMs = inputMs + outputMs + statistics.runs.runMs;
    expect(ownMs).toBeLessThanOrEqual(statistics.requests.succeeded.ms - takenMs);
  });

  test("tells the transport with each part whether hooks of this thread may have kept it", async () => {
    const service = new LocalService(await managePipeline(source()), UNLIMITED);
    const lease = service.acquire({ model: "" });
    const memory = service.memory.open();
    const told: boolean[] = [];
    const write = async () => void told.push(memory.isWireOnly);
    const signature = requireSignature("", lease.description);
    const call = { id: "1", metadata: {}, signal: new AbortController().signal, memory };
    const inputs = { kind: "tensors", tensors: repeated([1, 2, 3]) } as const;
    await lease.infer({ signature, inputs, call, parts: { write } });
    lease.release();
    expect(told).toEqual(new Array(3).fill(source().hooks === undefined));
  });
});

test("an answer in parts takes none after its end", async () => {
  const service = new LocalService(await managePipeline({}), UNLIMITED);
  const { servable } = await loadPipeline({ stages: [{ driver: repeatDriver("inline") }] });
  let sink: PartSink | undefined;
  const run = async (request: InferRequest): Promise<never> => {
    sink = request.parts;
    throw new ServingError("internal", "broken");
  };
  const failing = { ...servable, run };
  const lease = new LocalLease({ servable: failing, places: new ModelPlaces("default") }, service);
  const written: InferResponse[] = [];
  const parts = { write: async (part: InferResponse) => void written.push(part) };
  const inputs = { kind: "tensors", tensors: repeated([1]) } as const;
  const call = { id: "1", metadata: {}, signal: new AbortController().signal };
  const signature = requireSignature("", lease.description);
  await expect(lease.infer({ signature, inputs, call, parts })).rejects.toThrow("broken");
  const part = { model: "default", version: 1n, signature: "", outputs: inputs, metadata: {} };
  await expect(sink?.write(part)).rejects.toMatchObject({ code: "cancelled" });
  expect(written).toEqual([]);
  await servable.close();
});

describe("a lease", () => {
  test("runs what it was acquired for, though the model was loaded again meanwhile", async () => {
    const { manager, service, events } = await serve();
    const before = service.acquire({ model: "default" });
    const reloaded = manager.load("default");
    const askNow = async () => {
      const lease = service.acquire({ model: "default" });
      return ask(lease).finally(() => lease.release());
    };
    await expect.poll(askNow).toEqual({ load: 2 });
    expect(await ask(before)).toEqual({ load: 1 });
    before.release();
    await reloaded;
    await expect.poll(() => events.slice(-2)).toEqual(["answered by 1", "freed 1"]);
    await manager.unload("default");
  });

  test("keeps its version from being freed until it is released, and may be released twice", async () => {
    const { manager, service, events } = await serve();
    const [first, second] = [service.acquire({ model: "" }), service.acquire({ model: "" })];
    const unloading = manager.unload("default");
    first.release();
    first.release();
    expect(await ask(second)).toEqual({ load: 1 });
    second.release();
    await unloading;
    expect(events).toEqual(["answered by 1", "freed 1"]);
    expect(() => service.acquire({ model: "" })).toThrow(/Servable not found/);
  });

  test("counts a request as failed whose answer has no room", async () => {
    const manager = await managePipeline({ hooks: { process: async () => ({ y: new Float32Array(10_000) }) } });
    const service = new LocalService(manager, UNLIMITED);
    const lease = service.acquire({ model: "" });
    const signature = requireSignature("", lease.description);
    const budget = new MemoryBudget(20_000);
    budget.open().grow(1000);
    const memory = budget.open();
    const call = { id: "1", metadata: {}, signal: new AbortController().signal, memory };
    const inputs = { kind: "tensors", tensors: toTensors({ x: 1 }) } as const;
    await expect(lease.infer({ signature, inputs, call })).rejects.toMatchObject({ code: "unavailable" });
    lease.release();
    const [statistics] = await service.statistics();
    expect(statistics?.requests).toMatchObject({ succeeded: { count: 0 }, failed: { count: 1 } });
  });
});
