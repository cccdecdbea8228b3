import { ServingError } from "../errors.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { Channel } from "./channel.ts";
import type { HostPort } from "./host-port.ts";
import type { Record } from "./record.ts";
import { fromWireError, type WireError } from "./wire-error.ts";

/** The kinds of records that every exchange has; a pair of hosts adds its own kinds of questions from {@link FIRST_QUESTION} on. */
export const ANSWER = 0;
export const FAILURE = 1;
export const CANCEL = 2;
export const FIRST_QUESTION = 3;

/** An answer to a question. */
export interface Answer {
  readonly meta: unknown;
  readonly tensors: Tensors;
}

/** What to ask, and until when. */
export interface Question extends Omit<Record, "id"> {
  /** Aborting tells the other side to give up; the question then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Hands large tensors over instead of copying them. */
  readonly give?: boolean;
}

/** The asking end of a line: questions go out, answers come back by id, and a dead line fails what was asked on it. */
export class Exchange {
  readonly #channel: Channel;
  readonly #waiting = new Map<number, Waiting>();
  /** Questions that nobody waits for any more, but the other side still works on. */
  readonly #cancelled = new Set<number>();
  readonly #whoIsGone: string;
  readonly #idleListeners: (() => void)[] = [];
  readonly #freedListeners: (() => void)[] = [];
  #lastId = 0;

  /** `other` names the other side in the error of a dead line: `the model's thread`. */
  constructor(port: HostPort, other: string) {
    this.#whoIsGone = other;
    this.#channel = new Channel(port, (record) => this.#receive(record));
    this.#channel.onClose(() => this.#failAll());
  }

  /** Whether questions can still reach the other side. */
  get isOpen(): boolean {
    return this.#channel.isOpen;
  }

  /** How many questions the other side works on, cancelled ones too. */
  get pending(): number {
    return this.#waiting.size + this.#cancelled.size;
  }

  /** Asks, and resolves with the answer; throws `unavailable` when the other side is gone. */
  ask({ signal, give = false, ...question }: Question): Promise<Answer> {
    if (!this.#channel.isOpen) return Promise.reject(this.#gone());
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.#lastId = (this.#lastId + 1) & 0x3fffffff;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.#forget(id);
        this.#cancelled.add(id);
        this.#channel.send({ kind: CANCEL, id });
        reject(signal?.reason);
      };
      const forget = () => signal?.removeEventListener("abort", cancel);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.set(id, { resolve, reject, forget });
      try {
        this.#channel.send({ ...question, id }, { give });
      } catch (reason) {
        forget();
        this.#forget(id);
        reject(reason);
      }
    });
  }

  /** Resolves once every question has its answer. */
  async idle(): Promise<void> {
    if (this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  /** Calls back whenever the other side is done with a cancelled question, and {@link pending} is less by one. */
  onFreed(listener: () => void): void {
    this.#freedListeners.push(listener);
  }

  /** Calls back once the line is dead. */
  onClose(listener: () => void): void {
    this.#channel.onClose(listener);
  }

  /** Ends the line; what has no answer yet fails. */
  close(): void {
    this.#channel.close();
    this.#failAll();
  }

  /** An answer to a cancelled question only says that the other side is done with it. */
  #receive({ kind, id, meta, tensors = {} }: Record): void {
    if (this.#cancelled.delete(id)) for (const listener of this.#freedListeners) listener();
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.forget();
    this.#forget(id);
    if (kind === FAILURE) waiting.reject(fromWireError(meta as WireError));
    else waiting.resolve({ meta, tensors });
  }

  #failAll(): void {
    for (const { reject, forget } of this.#waiting.values()) {
      forget();
      reject(this.#gone());
    }
    this.#waiting.clear();
    this.#cancelled.clear();
    this.#tellIdle();
  }

  #forget(id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#tellIdle();
  }

  #tellIdle(): void {
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  #gone(): ServingError {
    return new ServingError("unavailable", `The request's way is gone: ${this.#whoIsGone} has ended. Send it again.`);
  }
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
  readonly forget: () => void;
}
