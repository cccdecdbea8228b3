import { ServingError } from "../errors.ts";
import type { Measure } from "../hooks/run-hook.ts";
import { type HistogramData, SharedHistograms, sumHistograms } from "../observability/metrics/histogram.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import type { CallOptions } from "./call-options.ts";

/** Kinds of hooks that requests run, as hook files name them. */
export type HookKind = "preprocess" | "postprocess" | "process";

/** Times of one hook, in seconds. */
export interface HookTimes {
  readonly hook: HookKind;
  /** Number of its stage, from 1; 0 for `process`, which has none. */
  readonly stage: number;
  readonly times: HistogramData;
}

/** Measures the hooks of one thread. */
export class HookClock {
  /** To be passed to the thread whose hooks are measured. */
  readonly memory: SharedArrayBuffer;
  readonly #stageCount: number;
  readonly #histograms: SharedHistograms;

  /** For the hooks around a number of models; with the memory of a clock that another thread reads. */
  constructor(stageCount: number, memory?: SharedArrayBuffer) {
    this.#stageCount = stageCount;
    this.#histograms = new SharedHistograms(memory ?? 2 * stageCount + 1);
    this.memory = this.#histograms.memory;
  }

  /** Counts a hook's time; the stage as in {@link HookTimes}. */
  add(hook: HookKind, stage: number, ms: number): void {
    this.#histograms.observe(this.#indexOf(hook, stage), ms / 1000);
  }

  /** The times of all hooks that ran. */
  read(): readonly HookTimes[] {
    const stages = Array.from({ length: this.#stageCount }, (_, index) => index + 1);
    const slots = stages.flatMap((stage) => [this.#read("preprocess", stage), this.#read("postprocess", stage)]);
    return [this.#read("process", 0), ...slots].filter(({ times }) => times.counts.some((count) => count > 0));
  }

  #read(hook: HookKind, stage: number): HookTimes {
    return { hook, stage, times: this.#histograms.read(this.#indexOf(hook, stage)) };
  }

  #indexOf(hook: HookKind, stage: number): number {
    return hook === "preprocess" ? stage : hook === "postprocess" ? this.#stageCount + stage : 0;
  }
}

/** The times of several threads together. */
export function sumHookTimes(parts: readonly HookTimes[]): readonly HookTimes[] {
  const groups = new Map<string, HookTimes[]>();
  for (const part of parts) {
    const key = `${part.hook} ${part.stage}`;
    groups.set(key, [...(groups.get(key) ?? []), part]);
  }
  return [...groups.values()].map((group) => ({ ...group[0]!, times: sumHistograms(group.map(({ times }) => times)) }));
}

/** A hook of one request. */
export interface TimedHook {
  readonly kind: HookKind;
  /** As in {@link HookTimes}. */
  readonly stage: number;
  readonly call: CallOptions;
  readonly clock: HookClock | undefined;
}

/** Runs a hook as a part of its request's timeline, and adds its time to the clock unless the request is a warm-up. */
export async function timeHook<Result>(
  { kind, stage, call: { timeline, limits }, clock }: TimedHook,
  run: () => Promise<Result>,
): Promise<Result> {
  const id = timeline?.newId();
  const start = steadyMs();
  let code: string | undefined;
  timeline?.enter(id);
  try {
    return await run();
  } catch (reason) {
    code = ServingError.from(reason).code;
    throw reason;
  } finally {
    const end = steadyMs();
    timeline?.enter(undefined);
    timeline?.add(kind, start, end, { stage, id, code });
    if (limits?.warmUp === undefined) clock?.add(kind, stage, end - start);
  }
}

/**
 * The same for a hook that answers in parts: what the hook does itself for each, without what its parts go through and
 * without the client. Only that is its time, and the hook is the one that runs.
 */
export class PartsTimer implements Measure {
  readonly #hook: TimedHook;
  readonly #id: string | undefined;
  readonly #start = steadyMs();
  #askedAt = 0;
  #ownMs = 0;

  constructor(hook: TimedHook) {
    this.#hook = hook;
    this.#id = hook.call.timeline?.newId();
  }

  begin(): void {
    this.#askedAt = steadyMs();
    this.#hook.call.timeline?.enter(this.#id);
  }

  end(): void {
    this.#hook.call.timeline?.enter(undefined);
    this.#ownMs += steadyMs() - this.#askedAt;
  }

  over(reason?: unknown): void {
    const { kind, stage, call, clock } = this.#hook;
    const code = reason === undefined ? undefined : ServingError.from(reason).code;
    call.timeline?.add(kind, this.#start, steadyMs(), { stage, id: this.#id, code });
    if (call.limits?.warmUp === undefined) clock?.add(kind, stage, this.#ownMs);
  }
}
