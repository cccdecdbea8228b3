import { type ErrorDetail, ServingError } from "../../errors.ts";
import { LOST_THREAD, loseGivenUp } from "../../lost-process.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { CancelSignal } from "../async/cancel-source.ts";
import { Channel } from "./channel.ts";
import type { WireRecord } from "./frame.ts";
import type { StartMark } from "./heartbeat.ts";
import { type HostPort, type MalformedListener, MalformedMessage } from "./host-port.ts";
import { RequestMap } from "./request-map.ts";
import { fromWireError, parseWireError } from "./wire-error.ts";

/**
 * The kinds of records that every client uses; each pair of hosts has its own kinds of requests, from {@link
 * FIRST_REQUEST} on.
 */
export const RESPONSE = 0;
export const FAILURE = 1;
export const CANCEL = 2;
/** A part of an answer in parts, before {@link RESPONSE} or {@link FAILURE} as its end. */
export const PART = 3;
/** Parts of an answer that were taken, and their bytes, as a pair of numbers in the meta: {@link PartWindow}. */
export const CREDIT = 4;
/** Others wait for a place that an answer in parts holds. */
export const CROWDED = 5;
export const FIRST_REQUEST = 6;

/** An answer to a request. */
export interface RpcResponse {
  readonly meta: unknown;
  readonly tensors: Tensors;
}

/** Takes the parts of an answer. */
export interface PartReceiver {
  /**
   * Takes the next part, in order, and gives credit for it later by {@link RpcClient.credit}. May throw
   * {@link MalformedMessage}.
   */
  take(part: RpcResponse, id: number): void;
  /** The request's own signal, which the one that it is asked with follows. */
  readonly signal?: CancelSignal;
  /** Told now and then, while others wait for a place that the answer holds; absent = it makes no difference. */
  crowded?(): void;
}

/** A request before it is sent. */
export type UnsentRecord = Omit<WireRecord, "id">;

/** Errors of requests that the other side never started. */
const neverStarted = new WeakSet<ServingError>();

/**
 * Checks if the other side ended without having started the failed request, so that the request may be sent again.
 */
export function wasNeverStarted(reason: unknown): boolean {
  return reason instanceof ServingError && neverStarted.has(reason);
}

/** Errors of requests that were lost with the other side. */
const lost = new WeakSet<ServingError>();

/**
 * The error of a request that was lost with the other side, which may have started it, as one that tells whom it
 * reaches `what` was lost; any other error as it is.
 */
export function tellLoss(reason: unknown, what = LOST_THREAD): unknown {
  if (!(reason instanceof ServingError) || !lost.has(reason) || neverStarted.has(reason)) return reason;
  return new ServingError(reason.code, reason.message, { cause: reason, details: [what] });
}

/**
 * The client end of a connection between threads: sends requests, matches answers by id, and fails open requests when
 * the connection ends.
 */
export class RpcClient {
  readonly #channel: Channel;
  readonly #waiting = new RequestMap<Waiting>();
  /** Signals of cancelled requests that the other side still works on. */
  readonly #cancelled = new RequestMap<CancelSignal>();
  /** The same of those that it had started when the connection ended. */
  readonly #lostSignals: CancelSignal[] = [];
  readonly #whoIsGone: string;
  readonly #startMark: StartMark | undefined;
  readonly #idleListeners: (() => void)[] = [];
  readonly #freedListeners: (() => void)[] = [];
  #lastId = 0;
  #isUntouched = false;

  /**
   * `other` names the other side in the error after the connection has ended: `the model's thread`. `startMark` is the
   * memory in which that side marks the requests that it started.
   */
  constructor(port: HostPort, other: string, startMark?: StartMark) {
    this.#whoIsGone = other;
    this.#startMark = startMark;
    this.#channel = new Channel(port, (record) => this.#receive(record));
    this.#channel.onClose(() => this.#failAll());
  }

  /** True while requests can still reach the other side. */
  get isOpen(): boolean {
    return this.#channel.isOpen;
  }

  /** Number of requests that the other side works on, including cancelled ones. */
  get pending(): number {
    return this.#waiting.size + this.#cancelled.size;
  }

  /**
   * Sends a request, and resolves with the answer; throws `unavailable` when the other side has ended. Aborting
   * `signal` cancels the request there, and rejects with the signal's reason; `transfer` = large tensors are not
   * copied. Without `parts`, there is one answer.
   */
  ask(
    { kind, meta, tensors }: UnsentRecord,
    signal?: CancelSignal,
    transfer = false,
    parts?: PartReceiver,
  ): Promise<RpcResponse> {
    if (!this.#channel.isOpen) return Promise.reject(this.#gone());
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.#lastId = (this.#lastId + 1) & 0x3fffffff;
    const id = this.#lastId;
    const answered = this.#wait(id, signal, parts);
    try {
      this.#channel.send({ kind, id, meta, tensors }, { transfer });
    } catch (reason) {
      this.#end(id)?.reject(reason);
    }
    return answered;
  }

  /** Not where the request is sent: what it has would be held until the answer. */
  #wait(id: number, signal: CancelSignal | undefined, parts: PartReceiver | undefined): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.#forget(id);
        this.#cancelled.set(id, parts?.signal ?? (signal as CancelSignal));
        this.#channel.send({ kind: CANCEL, id, meta: undefined, tensors: undefined });
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.set(id, { resolve, reject, signal, cancel, parts });
    });
  }

  /** Ends the wait for an answer; undefined = there is none. */
  #end(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    stopWatching(waiting);
    this.#forget(id);
    return waiting;
  }

  /** Lets the other side send as many more parts, and bytes of them, as were taken. */
  credit(id: number, parts: number, bytes: number): void {
    this.#channel.send({ kind: CREDIT, id, meta: [parts, bytes], tensors: undefined });
  }

  /** Resolves once every request has its answer. */
  async idle(): Promise<void> {
    if (this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  /**
   * Calls back whenever the other side is done with a cancelled request, and {@link pending} has become less by one.
   */
  onFreed(listener: () => void): void {
    this.#freedListeners.push(listener);
  }

  /** Calls back once the connection has ended. */
  onClose(listener: () => void): void {
    this.#channel.onClose(listener);
  }

  /** Calls back with the reason when the other side sent a malformed message; the connection has ended then. */
  onMalformed(listener: MalformedListener): void {
    this.#channel.onMalformed(listener);
  }

  /**
   * Ends the connection; requests without an answer fail. `isUntouched` = the other side has started none of them, see
   * {@link wasNeverStarted}.
   */
  close(isUntouched = false): void {
    this.#isUntouched = isUntouched;
    this.#channel.close();
    this.#failAll();
  }

  /** The answer to a cancelled request only means that the other side is done with it. */
  #receive({ kind, id, meta, tensors }: WireRecord): void {
    if (kind === PART) {
      this.#receivePart(id, { meta, tensors: tensors ?? {} });
      return;
    }
    if (kind === CROWDED) {
      this.#waiting.get(id)?.parts?.crowded?.();
      return;
    }
    if (kind !== RESPONSE && kind !== FAILURE)
      throw new MalformedMessage(`it has kind ${kind}, which is not an answer`);
    const error = kind === FAILURE ? parseWireError(meta) : undefined;
    const cancelled = this.#cancelled.get(id);
    if (cancelled !== undefined) {
      this.#cancelled.delete(id);
      loseGivenUp(cancelled, error?.details);
      for (const listener of this.#freedListeners) listener();
      return;
    }
    const waiting = this.#end(id);
    if (waiting === undefined)
      throw new MalformedMessage(`it answers request ${id}, which does not wait for an answer`);
    if (error !== undefined) waiting.reject(fromWireError(error));
    else waiting.resolve({ meta, tensors: tensors ?? {} });
  }

  /** Those on their way when a request was cancelled are dropped. */
  #receivePart(id: number, part: RpcResponse): void {
    const { parts } = this.#waiting.get(id) ?? {};
    if (parts !== undefined) parts.take(part, id);
    else if (this.#cancelled.get(id) === undefined)
      throw new MalformedMessage(`it sends a part to request ${id}, which does not take any`);
  }

  #failAll(): void {
    const hasStarted = (id: number) => !this.#isUntouched && this.#startMark?.hasStarted(id) !== false;
    this.#waiting.takeAll((waiting, id) => {
      const isStarted = hasStarted(id);
      const error = this.#gone(isStarted);
      lost.add(error);
      if (!isStarted) neverStarted.add(error);
      stopWatching(waiting);
      waiting.reject(error);
    });
    this.#cancelled.takeAll((signal, id) => {
      if (hasStarted(id)) this.#lostSignals.push(signal);
    });
    this.#tellIdle();
  }

  /** Tells what was lost of the cancelled requests that the other side was working on as the connection ended. */
  tellGivenUp(what: ErrorDetail): void {
    for (const signal of this.#lostSignals.splice(0)) loseGivenUp(signal, [what]);
  }

  #forget(id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#tellIdle();
  }

  #tellIdle(): void {
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  /** A started request may be the reason itself. */
  #gone(isStarted = false): ServingError {
    const when = isStarted ? " if another request was the cause" : "";
    return new ServingError("unavailable", `The request was lost: ${this.#whoIsGone} has ended. Send it again${when}.`);
  }
}

interface Waiting {
  readonly resolve: (answer: RpcResponse) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: CancelSignal | undefined;
  readonly cancel: () => void;
  readonly parts: PartReceiver | undefined;
}

function stopWatching({ signal, cancel }: Waiting): void {
  signal?.removeEventListener("abort", cancel);
}
