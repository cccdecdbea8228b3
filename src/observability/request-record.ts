import type { ErrorCode } from "../errors.ts";
import type { Interval, IntervalKind } from "./interval.ts";
import { loggedId, requestIdOf, sendableId } from "./request-id.ts";
import { steadyMs, toSteadyMs } from "./steady-clock.ts";
import type { Timeline } from "./timeline.ts";
import type { RequestTrace } from "./trace-context.ts";

/** Characters of a model's name that are logged; clients choose them. */
const MAX_NAME = 200;

/** Protocol and method of a request in metrics: one object for each route of a server. */
export interface RouteName {
  /** Name of the protocol. */
  readonly protocol: string;
  /** gRPC's `/package.Service/Method`, or HTTP's method and path with names for its parameters. */
  readonly method: string;
}

/** Milliseconds of a request's parts, all of a kind together; absent for those that it did not have. */
type PartTimes = { readonly [Kind in IntervalKind as `${Kind}Ms`]?: number };

/** Time of each part of a request, in milliseconds; absent for a part that was not reached. */
export interface RequestTimes extends PartTimes {
  /** From the last byte of the request until the model or the hooks may begin. */
  readonly deserializationMs?: number;
  /** Models, hooks and waiting for them. */
  readonly inferenceMs?: number;
  /** From the request's first byte until the first part of an answer in parts. */
  readonly firstPartMs?: number;
  /** From the outputs until the answer is written. */
  readonly serializationMs?: number;
  /** From the request's first byte until its answer has been sent. */
  readonly totalMs: number;
}

/** A stretch of time, on the clock of steadyMs. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Times of a request; absent if it did not get so far. */
export interface RequestMarks extends Stretch {
  readonly decode?: Stretch;
  readonly encode?: Stretch;
  /** From the first part of an answer in parts to its last one. */
  readonly parts?: Stretch;
}

/**
 * Facts about one request for the log, noted on its way through the server. Times are taken only if they are wanted.
 */
export class RequestRecord {
  /** As the client named it, until it is resolved; empty = not known. */
  model = "";
  version: bigint | undefined = undefined;
  /** Address of the client; empty = not known, or not needed. */
  client = "";
  /** Messages of a stream, each of which has its own record; absent = it is not a stream. */
  messages: number | undefined = undefined;
  /** Code of the error; undefined = it did not fail, or not yet. */
  failedWith: ErrorCode | undefined = undefined;
  /** The route that answers; undefined = none does, or it is not known yet. */
  route: RouteName | undefined = undefined;
  /** Name of the user who sends it; empty = no name is needed. */
  user = "";
  /** Records the parts of the request in hooks and models; undefined = they are not wanted. */
  timeline: Timeline | undefined = undefined;
  /** True if the answer has the times. */
  sendsTimes = false;
  /** Its place in a trace; undefined = it is not recorded. */
  trace: RequestTrace | undefined = undefined;
  /** True once the version that answers has taken it, as far as its limits and the server's go. */
  isAdmitted = false;
  /** True if another thread of this server answers, and takes it down. */
  isPassedOn = false;
  /** Examples that it brings; undefined = it is of no kind that has any. */
  examples: number | undefined = undefined;
  /** Parts that its answer has had; undefined = it has none. */
  parts: number | undefined = undefined;
  requestBytes = 0;
  responseBytes = 0;
  /** Headers or metadata, names in lower case. */
  readonly metadata: Readonly<Record<string, unknown>>;
  #id: string | undefined;
  /** True if the id came with a message; others can be sent in a header. */
  #isIdGiven = false;
  #isServedHere = false;
  #isTimed = false;
  #isTraced = false;
  #startedAt = 0;
  #receivedAt = 0;
  #inferredFrom = 0;
  #inferredUntil = 0;
  #firstPartAt = 0;
  #lastPartAt = 0;
  #writtenAt = 0;

  /** `metadata`: headers that may carry the client's id, names in lower case. */
  constructor(metadata: Readonly<Record<string, unknown>>) {
    this.metadata = metadata;
  }

  /** The client's id, or a new one. */
  get id(): string {
    this.#id ??= requestIdOf(this.metadata);
    return this.#id;
  }

  set id(id: string) {
    this.#id = id;
    this.#isIdGiven = true;
  }

  /** The id as a header may carry it; undefined for one that it cannot. */
  get sendableId(): string | undefined {
    return this.#isIdGiven ? sendableId(this.id) : this.id;
  }

  /** True if times are taken. */
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

  /**
   * True if a version of this server has been asked, so that `model` and `version`
   * are its own and not a client's words.
   */
  get isServedHere(): boolean {
    return this.#isServedHere;
  }

  /** True once it is certain that its trace is recorded. */
  get isTraced(): boolean {
    return this.#isTraced;
  }

  /**
   * Decides, once its route is known, if its trace is recorded: not of reads, such as probes and scrapes, which do not
   * count among those that may be recorded either.
   */
  settleTrace(isWorthIt: boolean): void {
    this.#isTraced = isWorthIt && this.trace?.take() === true;
    if (!this.#isTraced) this.trace = undefined;
  }

  /** Notes the version of this server that is to answer. */
  servedBy(model: string, version: bigint): void {
    this.model = model;
    this.version = version;
    this.#isServedHere = true;
  }

  /** Notes that models or hooks may begin. */
  beginInference(): void {
    if (this.#isTimed) this.#inferredFrom = performance.now();
  }

  /** Notes that there are outputs, or an error in their place. */
  endInference(): void {
    if (this.#isTimed) this.#inferredUntil = performance.now();
  }

  /** Notes that the answer comes in parts. */
  beginParts(): void {
    this.parts ??= 0;
  }

  /** Notes a part of the answer and its time, on the clock of performance.now(). */
  gavePart(at: number): void {
    this.parts = (this.parts ?? 0) + 1;
    this.#firstPartAt ||= at;
    this.#lastPartAt = at;
  }

  /** Notes bytes of the answer that were given to the connection. */
  wrote(bytes: number): void {
    this.responseBytes += bytes;
    if (this.#isTimed) this.#writtenAt = performance.now();
  }

  /** As in {@link RequestTimes}, not rounded; undefined if it was not reached. */
  get deserializationMs(): number | undefined {
    return this.#inferredFrom > 0 ? this.#inferredFrom - (this.#receivedAt || this.#startedAt) : undefined;
  }

  /** As in {@link RequestTimes}, not rounded; undefined if it was not reached. */
  get inferenceMs(): number | undefined {
    return this.#inferredUntil > 0 ? this.#inferredUntil - this.#inferredFrom : undefined;
  }

  /** As in {@link RequestTimes}, not rounded; undefined if it was not reached. */
  get serializationMs(): number | undefined {
    const until = this.#inferredUntil;
    return until > 0 && this.#writtenAt > until ? this.#writtenAt - until : undefined;
  }

  /** Time since there were outputs, not rounded; undefined if it did not get so far. */
  get sinceInferenceMs(): number | undefined {
    return this.#inferredUntil > 0 ? performance.now() - this.#inferredUntil : undefined;
  }

  /** Time until now, not rounded. */
  get totalMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Time of each part until now, rounded to microseconds. */
  times(): RequestTimes {
    const { deserializationMs, inferenceMs, serializationMs, totalMs } = this;
    return {
      ...(deserializationMs !== undefined && { deserializationMs: round(deserializationMs) }),
      ...(inferenceMs !== undefined && { inferenceMs: round(inferenceMs) }),
      ...(this.timeline !== undefined && partTimes(this.timeline.intervals)),
      ...(this.#firstPartAt > 0 && { firstPartMs: round(this.#firstPartAt - this.#startedAt) }),
      ...(serializationMs !== undefined && { serializationMs: round(serializationMs) }),
      totalMs: round(totalMs),
    };
  }

  /** Start and end of the request until now, and of its parts outside hooks and models, on the clock of steadyMs. */
  marks(): RequestMarks {
    const [received, from, until, written] = [
      this.#receivedAt || this.#startedAt,
      this.#inferredFrom,
      this.#inferredUntil,
      this.#writtenAt,
    ];
    const [first, last] = [this.#firstPartAt, this.#lastPartAt];
    return {
      start: toSteadyMs(this.#startedAt),
      end: steadyMs(),
      ...(from > 0 && { decode: { start: toSteadyMs(received), end: toSteadyMs(from) } }),
      ...(until > 0 && written > until && { encode: { start: toSteadyMs(until), end: toSteadyMs(written) } }),
      ...(first > 0 && { parts: { start: toSteadyMs(first), end: toSteadyMs(last) } }),
    };
  }

  /** The fields by which log lines name the request. */
  fields(): Readonly<Record<string, unknown>> {
    const { id, model, version, user, trace } = this;
    return {
      requestId: loggedId(id),
      ...(user !== "" && { user: user.slice(0, MAX_NAME) }),
      ...(trace !== undefined && { trace_id: trace.span.traceId, span_id: trace.span.spanId }),
      ...(model !== "" && { model: model.slice(0, MAX_NAME) }),
      ...(version !== undefined && { version: String(version) }),
    };
  }
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/**
 * Adds up the parts of a request by kind, rounded to microseconds. What another model of the server did for it is in
 * the time of `model` alone.
 */
function partTimes(intervals: readonly Interval[]): PartTimes {
  const sums: Record<string, number> = {};
  for (const { kind, depth, start, end } of intervals) {
    if (depth === 0) sums[`${kind}Ms`] = (sums[`${kind}Ms`] ?? 0) + end - start;
  }
  for (const name in sums) sums[name] = Math.round(sums[name]! * 1000) / 1000;
  return sums;
}
