import { ServingError } from "../errors.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import type { CallOptions } from "./call-options.ts";
import type { HookClock, HookKind } from "./hook-times.ts";

/** A hook of one request. */
interface TimedHook {
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
