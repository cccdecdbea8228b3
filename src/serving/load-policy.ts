import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { Backoff } from "../platform/async/backoff.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import type { Executor } from "./executor.ts";
import type { LoadGate } from "./load-gate.ts";
import type { ModelMemory } from "./model-memory.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { NeededModels } from "./needed-models.ts";
import type { Servable } from "./servable.ts";

/** The shortest wait before a further attempt, in milliseconds. */
const FIRST_RETRY_MS = 1000;
/**
 * Time that an aborted load gets to end before the next one begins, in milliseconds, so that they do not run at once.
 */
const GRACE_MS = 1000;

/** Limits of the loads of all versions. */
export interface LoadPolicy {
  readonly gate: LoadGate;
  /** Unloads idle copies, and loads them again. */
  readonly executor: Executor;
  /** The models that stages name. */
  readonly needed: NeededModels;
  /** Unloads idle versions to make room for others. */
  readonly memory: ModelMemory;
  readonly loading: LoadingSettings;
}

/** Components that the versions of a model share. */
export interface VersionContext<Version> {
  readonly policy: LoadPolicy;
  readonly places: ModelPlaces;
  /** Idle time after which it is unloaded, in milliseconds; 0 = never. */
  readonly idleUnloadMs: () => number;
  /** Reports if the files of a version were there at the last check. */
  readonly isPresent: (version: bigint) => boolean;
  readonly log: Logger;
  /** To be called with true if its status is another one, and with false if it only has nothing left to do. */
  readonly change: (version: Version, isNews: boolean) => void;
}

/** The waits between attempts to load, up to the longest in milliseconds. */
export function retryBackoff(maxMs: number): Backoff {
  return new Backoff({ firstMs: Math.min(FIRST_RETRY_MS, maxMs), maxMs });
}

/** Limits of one load. */
interface LoadLimits {
  readonly signal: AbortSignal;
  /** Maximum time, in milliseconds; 0 = no limit. */
  readonly timeoutMs: number;
}

/**
 * Loads a version. Rejects with the signal's reason when that aborts, and with `deadline_exceeded` when the time is
 * over; a version that is loaded nevertheless later is closed.
 */
export async function loadInTime(version: AspiredVersion, limits: LoadLimits): Promise<Servable> {
  const { signal, timeoutMs } = limits;
  signal.throwIfAborted();
  const givingUp = new AbortController();
  const late = () => givingUp.abort(tooLong(version, timeoutMs));
  const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined;
  // A version that is loaded goes on until it is closed, whatever becomes of what asked for it.
  const abort = () => givingUp.abort(signal.reason);
  signal.addEventListener("abort", abort);
  const loading = startLoad(version, givingUp.signal);
  try {
    return await unlessAborted(loading, givingUp.signal);
  } catch (reason) {
    if (!givingUp.signal.aborted) throw reason;
    const ended = loading.then((servable) => servable.close()).catch(() => {});
    await settlesWithin(ended, GRACE_MS);
    throw givingUp.signal.reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** Async, so that a load that throws synchronously rejects. */
async function startLoad(version: AspiredVersion, signal: AbortSignal): Promise<Servable> {
  return version.load(signal);
}

function tooLong({ version }: AspiredVersion, timeoutMs: number): ServingError {
  const message = `Version ${version} has not loaded within ${timeoutMs} ms (--load-timeout), and is given up.`;
  return new ServingError("deadline_exceeded", message);
}
