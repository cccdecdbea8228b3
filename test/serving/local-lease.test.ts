import { describe, expect, test } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import type { Lease } from "../../src/serving/inference-service.ts";
import { LocalService } from "../../src/serving/local-service.ts";
import { requireSignature } from "../../src/serving/require-signature.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { plain } from "../helpers/run-pipeline.ts";
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
