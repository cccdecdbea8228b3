import { loadBatches } from "../load/load-batches.ts";
import type { LoadTarget } from "../load/load-job.ts";
import { isStable } from "./is-stable.ts";
import type { Level, LevelResult } from "./level.ts";
import { toLevelResult } from "./to-level-result.ts";
import { Window } from "./window.ts";

/** Length and exactness of a measurement. */
export interface Measuring {
  /** Threads that put the load on the server. */
  readonly threads: number;
  /** Time before the first window. */
  readonly warmUpSeconds: number;
  /** Least length of a window. */
  readonly windowSeconds: number;
  /** Windows at most, where no three in a row agree. */
  readonly maxWindows: number;
  /** Aborts the measurement, whose result has what was measured until then. */
  readonly signal: AbortSignal;
  /** Notified ten times a second, in the warm-up too, where `windows` has none. */
  readonly onProgress?: (level: Level, windows: readonly Window[]) => void;
}

/** Requests that a window has at least, however long they take … */
const MIN_REQUESTS = 50;
/** … but it is no longer than so many times its length: a server may have gone silent. */
const MAX_STRETCH = 5;

/** Measures one level: a warm-up, then windows until the last three agree. */
export async function measureLevel(target: LoadTarget, level: Level, measuring: Measuring): Promise<LevelResult> {
  const { warmUpSeconds, maxWindows, signal, onProgress = () => {} } = measuring;
  const threads = Math.min(measuring.threads, level.concurrency);
  const warmUp = new Window(threads);
  const windows: Window[] = [];
  for await (const batch of loadBatches({ ...level, target }, threads, signal)) {
    const isWarm = warmUp.seconds >= warmUpSeconds;
    const last = windows.at(-1);
    if (!isWarm) warmUp.add(batch);
    else if (last !== undefined && !isFull(last, measuring)) last.add(batch);
    // Where all requests fail, or none is answered, more of them say nothing.
    else if (windows.length === maxWindows || isStable(windows) || last?.requests === 0) break;
    else windows.push(begin(threads, batch));
    onProgress(level, windows);
  }
  // A window that was cut short says little, unless it is all there is.
  const whole = windows.filter((window) => isFull(window, measuring));
  return toLevelResult(level, whole.length > 0 ? whole : windows, threads);
}

function begin(threads: number, batch: Parameters<Window["add"]>[0]): Window {
  const window = new Window(threads);
  window.add(batch);
  return window;
}

function isFull({ seconds, requests, failures }: Window, { windowSeconds }: Measuring): boolean {
  const isLong = seconds >= MAX_STRETCH * windowSeconds;
  return isLong || (seconds >= windowSeconds && (requests >= MIN_REQUESTS || failures.size > 0));
}
