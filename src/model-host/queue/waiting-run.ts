import { ServingError } from "../../errors.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import type { ClientTurns } from "./client-turns.ts";

/** One predict, with the facts that order it in a queue. */
interface RunFacts {
  readonly inputs: Tensors;
  readonly call: ModelCall;
  /** 1 = highest; 0 = none, after all others of the same client. */
  readonly priority: number;
  /** Number of its client. */
  readonly client: number;
  /** Start of its wait, on the clock of performance.now(). */
  readonly since: number;
  /** Rows that it counts for; 1 where the model is not batched. */
  readonly rows: number;
}

/** The two ways in which a run ends. */
interface RunEnd {
  resolve(outputs: Tensors): void;
  reject(reason: unknown): void;
}

/** One predict that waits for its turn. */
export interface QueuedRun extends RunFacts, RunEnd {
  /** Its place among all that wait, for {@link ClientTurns}. */
  turn: number;
}

/** A run in a queue, which its signal or a time limit removes while it waits. */
export class WaitingRun implements QueuedRun {
  readonly inputs: Tensors;
  readonly call: ModelCall;
  readonly priority: number;
  readonly client: number;
  readonly since: number;
  readonly rows: number;
  turn = 0;
  readonly #end: RunEnd;
  #abort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ inputs, call, priority, client, since, rows }: RunFacts, end: RunEnd) {
    this.inputs = inputs;
    this.call = call;
    this.priority = priority;
    this.client = client;
    this.since = since;
    this.rows = rows;
    this.#end = end;
  }

  /** Calls back when the signal aborts, or after `timeoutMs` (0 = never), unless the run has ended before. */
  leaveOn(timeoutMs: number, leave: (reason: unknown) => void): void {
    const { signal } = this.call;
    this.#abort = () => leave(signal.reason);
    signal.addEventListener("abort", this.#abort, { once: true });
    if (timeoutMs > 0) this.#timer = setTimeout(() => leave(waitedTooLong(timeoutMs)), timeoutMs);
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
