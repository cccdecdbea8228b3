import { killSelf } from "./end-process.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs something that a signal aborts. Once it has cleaned up the process says what was left undone and ends by that
 * signal, as the shell expects; a second signal does not wait for that.
 */
export async function untilInterrupted<Result>(
  run: (signal: AbortSignal) => Promise<Result>,
  undone: string,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (signal: NodeJS.Signals) => controller.abort(signal);
  for (const signal of SIGNALS) process.once(signal, abort);
  try {
    return await run(controller.signal);
  } catch (reason) {
    if (!controller.signal.aborted) throw reason;
    process.stderr.write(`kserving: interrupted; ${undone}.\n`);
    return killSelf(controller.signal.reason);
  } finally {
    for (const signal of SIGNALS) process.off(signal, abort);
  }
}
