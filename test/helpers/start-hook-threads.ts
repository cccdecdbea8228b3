import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { expect, onTestFinished } from "vitest";
import { createLogger, type Logger } from "../../src/observability/logger.ts";
import type { InferResponse } from "../../src/pipeline/infer-request.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { loadServable } from "../../src/serving/repository/load-servable.ts";
import type { StageOptions } from "../../src/serving/repository/stage.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import { loadOptions } from "./load-options.ts";
import { plain, run } from "./run-pipeline.ts";
import { tempFolder } from "./temp-folder.ts";

/** Choices for {@link startHookThreads}. */
export interface HookThreadsOptions {
  readonly stages?: readonly StageOptions[];
  readonly workers?: number;
  readonly hookTimeoutMs?: number;
  readonly hookStallMs?: number;
  readonly hookMemoryMb?: number;
  readonly log?: Logger;
  readonly signal?: AbortSignal;
  /** Name of the hook file. Default `hooks.ts`. */
  readonly name?: string;
  readonly options?: Readonly<Record<string, string>>;
}

/** Starts hook threads with the given hook file; ends them when the test ends. */
export async function startHookThreads(source: string, options: HookThreadsOptions = {}): Promise<Servable> {
  return (await startReloadable(source, options)).servable;
}

/** The same, and where the hook file lies. */
export async function startReloadable(
  source: string,
  options: HookThreadsOptions = {},
): Promise<{ servable: Servable; file: string }> {
  const { stages = [{ driver: "null" }], workers = 1, hookTimeoutMs = 0, hookStallMs = 0 } = options;
  const { hookMemoryMb = 256, log = createLogger({ level: "silent" }), signal, name = "hooks.ts" } = options;
  const file = join(tempFolder({ [name]: source }), name);
  const { hooks: thread } = sliceSettings({ hookTimeoutMs, hookStallMs, hookMemoryMb });
  const { servable } = await loadServable(
    { name: "default", version: 1n, stages, hooks: file, options: options.options ?? {} },
    { ...loadOptions(log), workers, thread, ...(signal && { signal }) },
  );
  onTestFinished(() => servable.close());
  return { servable, file };
}

/** Keeps asking while the condition holds, and returns every answer's `text`. */
export async function askWhile(servable: Servable, condition: () => boolean): Promise<unknown[]> {
  const texts: unknown[] = [];
  const loop = async () => {
    do texts.push((await ask(servable, { x: 1 })).text);
    while (condition());
    texts.push((await ask(servable, { x: 1 })).text);
  };
  await Promise.all([loop(), loop(), loop()]);
  return texts;
}

/** Asks with tensors and returns the outputs as plain nested values. */
export async function ask(servable: Servable, inputs: Values, signal?: AbortSignal): Promise<Record<string, unknown>> {
  const result: InferResponse = await run(
    servable,
    { kind: "tensors", tensors: toTensors(inputs) },
    signal ? { signal } : {},
  );
  return result.outputs.kind === "tensors" ? plain(result.outputs.tensors) : {};
}

/** Counts the threads that this process starts from now on and that have not ended. */
export function countThreads(): () => number {
  const alive = new Set<Worker>();
  const add = (worker: Worker) => {
    alive.add(worker);
    worker.once("exit", () => alive.delete(worker));
  };
  process.on("worker", add);
  onTestFinished(() => {
    process.off("worker", add);
  });
  return () => alive.size;
}

/** Resolves once a file is there, which is how a hook tells a test where it has come to. */
export async function fileExists(path: string): Promise<void> {
  await expect.poll(() => existsSync(path), { timeout: 10_000, interval: 5 }).toBe(true);
}
