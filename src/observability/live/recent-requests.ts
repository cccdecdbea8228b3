import type { RequestOutcome } from "../access-log.ts";
import type { Interval } from "../interval.ts";
import { loggedId } from "../request-id.ts";
import type { RequestMarks, RequestRecord } from "../request-record.ts";
import { toEpochMs } from "../steady-clock.ts";
import type { RecentPart, RecentRequest } from "./live-data.ts";

/** Requests that are kept, parts of each, and the time for which a look makes more of them kept. */
const [MAX_REQUESTS, MAX_PARTS, WATCHED_MS] = [100, 64, 30_000];

/** The last requests to models, kept while a page watches: otherwise they cost nothing. */
export class RecentRequests {
  readonly #kept: RecentRequest[] = [];
  readonly #lookListeners = new Set<() => void>();
  readonly #onKept: ((request: RecentRequest) => void) | undefined;
  #watchedUntil = 0;

  /** `onKept`: is called with each request in place of keeping it. */
  constructor(onKept?: (request: RecentRequest) => void) {
    this.#onKept = onKept;
  }

  /** Calls back with each look; returns a function that removes the listener. */
  onLook(listener: () => void): () => void {
    this.#lookListeners.add(listener);
    return () => this.#lookListeners.delete(listener);
  }

  /** True while a page watches. */
  get isWatched(): boolean {
    return performance.now() < this.#watchedUntil;
  }

  /** The last requests, newest first; more are kept for a while. */
  look(): readonly RecentRequest[] {
    this.#watchedUntil = performance.now() + WATCHED_MS;
    for (const listener of this.#lookListeners) listener();
    return this.#kept.toReversed();
  }

  /** Keeps a request that is over, if it reached a model of this server. */
  add(record: RequestRecord, { status, endStatus = status, code }: RequestOutcome): void {
    if (!record.isServedHere) return;
    const marks = record.marks();
    const { model, version, route } = record;
    const kept = this.#onKept ?? ((request) => this.keep(request));
    kept({
      id: loggedId(record.id),
      at: toEpochMs(marks.start),
      model,
      version: String(version ?? ""),
      route: route?.method ?? "",
      protocol: route?.protocol ?? "",
      status: code ?? String(endStatus),
      totalMs: marks.end - marks.start,
      parts: toParts(marks, record.timeline?.intervals ?? []),
    });
  }

  /** Keeps a request that another thread has answered. */
  keep(request: RecentRequest): void {
    this.#kept.push(request);
    if (this.#kept.length > MAX_REQUESTS) this.#kept.shift();
  }
}

function toParts({ start, decode, encode }: RequestMarks, intervals: readonly Interval[]): readonly RecentPart[] {
  const named = [
    ...(decode ? [{ name: "decode", ...decode }] : []),
    ...intervals.slice(0, MAX_PARTS).map((one) => ({ name: nameOf(one), start: one.start, end: one.end })),
    ...(encode ? [{ name: "encode", ...encode }] : []),
  ];
  return named
    .map((part) => ({ name: part.name, start: part.start - start, end: part.end - start }))
    .toSorted((a, b) => a.start - b.start || b.end - a.end);
}

function nameOf({ kind, stage, name }: Interval): string {
  return [kind, ...(stage > 0 ? [stage] : []), ...(name === undefined ? [] : [name])].join(" ");
}
