import { ServingError } from "../../errors.ts";
import { type CallLimits, NO_LIMITS } from "../../platform/limits/call-limits.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import type { Turned } from "./client-turns.ts";

/** A predict that waits in a queue. */
interface Pushed {
  readonly inputs: Tensors;
  readonly call: ModelCall;
  /** Start of its wait, on the clock of performance.now(). */
  readonly since: number;
  /** Rows that it counts for; 1 for a model that is not batched. */
  readonly rows: number;
  /** Length of its longest row; 0 if that does not matter. */
  readonly length: number;
}

/** The two ways in which a run ends. */
interface RunEnd {
  resolve(outputs: Tensors): void;
  reject(reason: unknown): void;
}

/** A predict in a queue, which its signal or a time limit removes while it waits. */
export class QueuedRun implements Pushed, Turned, RunEnd {
  readonly inputs: Tensors;
  readonly call: ModelCall;
  readonly limits: CallLimits;
  readonly since: number;
  readonly rows: number;
  readonly length: number;
  turn = 0;
  readonly #end: RunEnd;
  #abort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ inputs, call, since, rows, length }: Pushed, end: RunEnd) {
    this.inputs = inputs;
    this.call = call;
    this.limits = call.limits ?? NO_LIMITS;
    this.since = since;
    this.rows = rows;
    this.length = length;
    this.#end = end;
  }

  /** Calls back when the signal aborts, or its time in the queue is over, unless the run has ended before. */
  onLeave(leave: (reason: unknown) => void): void {
    const { signal } = this.call;
    const { queueTimeoutMs = 0 } = this.limits;
    this.#abort = () => leave(signal.reason);
    signal.addEventListener("abort", this.#abort, { once: true });
    if (queueTimeoutMs > 0) this.#timer = setTimeout(() => leave(waitedTooLong(queueTimeoutMs)), queueTimeoutMs);
  }

  resolve(outputs: Tensors): void {
    this.#forget();
    this.#end.resolve(outputs);
  }

  reject(reason: unknown): void {
    this.#forget();
    this.#end.reject(reason);
  }

  #forget(): void {
    clearTimeout(this.#timer);
    if (this.#abort !== undefined) this.call.signal.removeEventListener("abort", this.#abort);
  }
}

function waitedTooLong(timeoutMs: number): ServingError {
  return new ServingError("unavailable", `The request waited ${timeoutMs} ms in the queue, its limit; send it later.`);
}
