import type { ErrorCode } from "../errors.ts";
import { loggedId, requestIdOf } from "./request-id.ts";

/** Characters of a model's name that are logged; clients choose them. */
const MAX_NAME = 200;

/** Time of each part of a request, in milliseconds; absent for a part that was not reached. */
export interface RequestTimes {
  /** From the last byte of the request until the model or the hooks may begin. */
  readonly deserializationMs?: number;
  /** Models, hooks and waiting for them. */
  readonly inferenceMs?: number;
  /** From the outputs until the answer is written. */
  readonly serializationMs?: number;
  /** From the request's first byte until its answer has been sent. */
  readonly totalMs: number;
}

/**
 * Facts about one request for the log, noted on its way through the server. Times are taken only where they are wanted.
 */
export class RequestRecord {
  /** As the client named it, until it is resolved; empty = not known. */
  model = "";
  version: bigint | undefined;
  /** Messages of a stream, each of which has a record of its own; absent = it is not a stream. */
  messages: number | undefined;
  /** Code of the error; undefined = it did not fail, or not yet. */
  failedWith: ErrorCode | undefined;
  requestBytes = 0;
  responseBytes = 0;
  readonly #metadata: Readonly<Record<string, unknown>>;
  #id: string | undefined;
  #isTimed = false;
  #startedAt = 0;
  #receivedAt = 0;
  #inferredFrom = 0;
  #inferredUntil = 0;
  #writtenAt = 0;

  /** `metadata`: headers that may carry the client's id, names in lower case. */
  constructor(metadata: Readonly<Record<string, unknown>>) {
    this.#metadata = metadata;
  }

  /** The client's id, or a new one. */
  get id(): string {
    this.#id ??= requestIdOf(this.#metadata);
    return this.#id;
  }

  set id(id: string) {
    this.#id = id;
  }

  /** True where times are taken. */
  get isTimed(): boolean {
    return this.#isTimed;
  }

  /** Takes times from now on. */
  startTiming(): void {
    this.#isTimed = true;
    this.#startedAt = performance.now();
  }

  /** Notes that the request has arrived, with its size. */
  received(bytes: number): void {
    this.requestBytes = bytes;
    if (this.#isTimed) this.#receivedAt = performance.now();
  }

  /** Notes that models or hooks may begin, and which version of which model that is. */
  beginInference(model: string, version: bigint | undefined): void {
    this.model = model;
    this.version = version;
    if (this.#isTimed) this.#inferredFrom = performance.now();
  }

  /** Notes that there are outputs, or an error in their place. */
  endInference(): void {
    if (this.#isTimed) this.#inferredUntil = performance.now();
  }

  /** Notes bytes of the answer that were given to the connection. */
  wrote(bytes: number): void {
    this.responseBytes += bytes;
    if (this.#isTimed) this.#writtenAt = performance.now();
  }

  /** Time of each part until now, rounded to microseconds. */
  times(): RequestTimes {
    const [received, from, until] = [this.#receivedAt || this.#startedAt, this.#inferredFrom, this.#inferredUntil];
    return {
      ...(from > 0 && { deserializationMs: round(from - received) }),
      ...(until > 0 && { inferenceMs: round(until - from) }),
      ...(until > 0 && this.#writtenAt > until && { serializationMs: round(this.#writtenAt - until) }),
      totalMs: round(performance.now() - this.#startedAt),
    };
  }

  /** The fields by which log lines name the request. */
  fields(): Readonly<Record<string, unknown>> {
    const { id, model, version } = this;
    return {
      requestId: loggedId(id),
      ...(model !== "" && { model: model.slice(0, MAX_NAME) }),
      ...(version !== undefined && { version: String(version) }),
    };
  }
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
