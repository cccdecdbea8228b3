import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { type SettingOptions, sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { inferOnce } from "../../src/serving/infer-once.ts";
import { LocalService } from "../../src/serving/local-service.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { managePipeline } from "./manage.ts";

async function serve(hooks: Hooks | undefined, options: SettingOptions = {}): Promise<LocalService> {
  const { limits } = sliceSettings({ maxQueue: 100, maxQueueBytes: 1e6, ...options });
  return new LocalService(await managePipeline({ ...(hooks && { hooks }) }), { limits, log: createSilentLogger() });
}

const ask = (service: LocalService, signal = new AbortController().signal) =>
  inferOnce(service, {
    ref: { model: "" },
    signature: "",
    inputs: { kind: "tensors", tensors: toTensors({ x: [1, 2, 3, 4] }) },
    call: { id: "1", metadata: {}, signal },
  });

/** Hooks that wait until `open` is called. */
function heldHooks() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const hooks: Hooks = { preprocess: (values) => opened.then(() => values) };
  return { hooks, open };
}

const untilAborted: Hooks = {
  preprocess: (_, ctx) =>
    new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
};

describe("more than the limits", () => {
  test("of requests is refused at once", async () => {
    const { hooks, open } = heldHooks();
    const service = await serve(hooks, { maxQueue: 2 });
    const inside = [ask(service), ask(service)];
    await expect(ask(service)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/2 requests.*--max-queue/),
    });
    open();
    await Promise.all(inside);
    await ask(service);
  });

  test("of bytes is refused at once, but one request alone is always let in", async () => {
    const { hooks, open } = heldHooks();
    const service = await serve(hooks, { maxQueueBytes: 10 });
    const inside = ask(service);
    await expect(ask(service)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/hold 16 bytes/),
    });
    open();
    await inside;
    await ask(service);
  });
});

describe("a request", () => {
  test("that takes longer than the request timeout fails", async () => {
    const service = await serve(untilAborted, { requestTimeoutMs: 20 });
    await expect(ask(service)).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  test("whose client has left fails with that reason, with or without a timeout", async () => {
    const service = await serve(untilAborted, { requestTimeoutMs: 60_000 });
    const abort = new AbortController();
    const asked = ask(service, abort.signal);
    abort.abort();
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
  });

  test("that names an unknown signature is answered with the known ones", async () => {
    const service = await serve({ preprocess: (values) => values });
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const request = { ref: { model: "" }, signature: "nope", inputs: { kind: "tensors", tensors: {} }, call } as const;
    await expect(inferOnce(service, request)).rejects.toMatchObject({
      code: "failed_precondition",
      message: 'Serving signature key "nope" not found. There is serving_default.',
    });
  });
});

test("readiness is reported at once and when the service closes", async () => {
  const service = await serve({ preprocess: (values) => values });
  const told: boolean[] = [];
  service.onReadiness((ready) => told.push(ready));
  service.admission.close();
  expect(told).toEqual([true, false]);
  await expect(ask(service)).rejects.toMatchObject({ code: "unavailable" });
});

test("tells the transport whether hooks of this thread may have kept the tensors", async () => {
  for (const [hooks, isWireOnly] of [
    [{ preprocess: (values) => values }, false],
    [undefined, true],
  ] as [Hooks, boolean][]) {
    const service = await serve(hooks);
    const memory = service.memory.open();
    const inputs = { kind: "tensors", tensors: toTensors({ x: [1] }) } as const;
    const signal = new AbortController().signal;
    const call = { id: "1", metadata: {}, signal, memory };
    await inferOnce(service, { ref: { model: "" }, signature: "", inputs, call });
    expect(memory.isWireOnly).toBe(isWireOnly);
  }
});
