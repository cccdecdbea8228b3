import { invalidArgument, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ClientAccount } from "../../platform/limits/client-account.ts";
import { retryInfo } from "../../retry-info.ts";
import type { InferRequest, InferResponse } from "../infer-request.ts";
import { hashRequest, hashSmallRequest, isIntact } from "../input-key.ts";
import { TurnLock } from "./turn-lock.ts";

/** Milliseconds within which all requests of one end are reported. */
const ONE_END_MS = 20;
/** Larger requests are hashed before they run, once one of their size was lost. */
const MAX_HASHED_BYTES = 8 * 1024 * 1024;
/** Ends that count for a request before it is refused: of all that was under way, but the last one of it alone. */
export const MAX_ENDS = 2;
/** Milliseconds for which a request is remembered that was under way at an end. */
const SUSPECT_MS = 10 * 60_000;
/** Milliseconds for which a request is not run that has ended what ran it. */
const QUARANTINE_MS = 60 * 60_000;
/** Time in which ends are counted, in milliseconds. */
const WINDOW_MS = 60_000;
/** Ends by one client within that time before it has to wait: of processes, and of threads that others waited for. */
export const MAX_CLIENT_ENDS = 4;
/** Part of such an end that the end of a thread is which starts again in milliseconds. */
const QUICK_END = 1 / 4;
/** Milliseconds that it waits then. */
const WAIT_MS = 20_000;
/** Ends within that time, with requests of several clients in each, before clients run in turn. */
const MAX_UNCLEAR = 2;
/** Clients that are remembered; of more, the oldest are forgotten. */
const MAX_CLIENTS = 256;

/** A request on its way to its model. */
export interface SentRequest {
  readonly model: string;
  readonly request: InferRequest;
  /** Size of its inputs, of which a run may take the memory away. */
  readonly bytes: number;
  readonly client: ClientAccount;
}

/** A request that was under way when what ran it ended; without a hash only its size is known. */
interface Suspect extends Pick<SentRequest, "bytes" | "client"> {
  readonly id: string;
  readonly hash: string | undefined;
  /** True if a process ended, or a thread that took as long. */
  readonly isCostly: boolean;
}

interface Entry {
  readonly bytes: number;
  /** The id of the request that was lost first. */
  readonly id: string;
  readonly group: object;
  ends: number;
  isQuarantined: boolean;
  until: number;
}

/** Settings of a guard, and who is told. */
export interface GuardParts {
  readonly model: string;
  /** Requests that are remembered, at most. */
  readonly maxRequests: number;
  readonly log: Pick<Logger, "error" | "warn">;
  readonly onQuarantined: () => void;
  readonly onRefused: () => void;
}

/**
 * Knows the requests of one model that were under way when a process or a thread that ran them ended. A known one runs
 * alone when it comes again: if it is answered it is forgotten, if it ends the process again it is refused for
 * an hour.
 */
export class PoisonGuard {
  readonly #parts: GuardParts;
  readonly #entries = new Map<string, Entry>();
  /** Sizes of requests whose bytes were gone when they were lost, and when that is forgotten. */
  readonly #sizes = new Map<number, number>();
  readonly #kills = new KillCount();
  readonly #lock = new TurnLock();
  /** The group of all requests that nothing is known of. */
  readonly #others = {};
  readonly #hashes = new WeakMap<InferRequest, string>();
  #lost: Suspect[] = [];
  #hashedBytes = 0;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /** True once nothing is remembered any more. */
  get isIdle(): boolean {
    const now = Date.now();
    for (const [hash, { until }] of this.#entries) if (until < now) this.#entries.delete(hash);
    for (const [bytes, until] of this.#sizes) if (until < now) this.#sizes.delete(bytes);
    const isEmpty = this.#entries.size === 0 && this.#sizes.size === 0 && this.#lost.length === 0;
    return isEmpty && this.#kills.isOver && this.#lock.isFree;
  }

  /**
   * Runs a request, unless it, or its client, has ended what runs the model too often: throws `invalid_argument`, or
   * `resource_exhausted` with the time after which to try again.
   */
  async run({ request, bytes, client }: SentRequest, run: () => Promise<InferResponse>): Promise<InferResponse> {
    const hash = this.#mayBeKnown(bytes) ? await hashRequest(request) : undefined;
    if (hash !== undefined) this.#hashes.set(request, hash);
    const entry = hash === undefined ? undefined : this.#entries.get(hash);
    if (entry?.isQuarantined && entry.until > Date.now()) throw this.#refused(entry);
    this.#refuseClient(client);
    const turn = await this.#lock.enter(entry?.group ?? (this.#kills.isByClient ? client : this.#others));
    try {
      const result = await run();
      if (hash !== undefined) this.#entries.delete(hash);
      return result;
    } finally {
      this.#lock.leave(turn);
    }
  }

  /** Notes a request that was lost with the process or the thread that ran it, while its inputs are still there. */
  lose({ request, bytes, client }: SentRequest, isCostly: boolean): void {
    const hash = this.hashOf(request) ?? this.#hashNow(request, bytes);
    this.add({ id: request.call.id, bytes, client, hash, isCostly });
  }

  /** Notes a request of which the inputs may be gone. */
  add(suspect: Suspect): void {
    if (this.#lost.length === 0) setTimeout(() => this.#judge(), ONE_END_MS);
    this.#lost.push(suspect);
  }

  /** The hash of a request if it was made before it ran. */
  hashOf(request: InferRequest): string | undefined {
    return this.#hashes.get(request);
  }

  /** Those of one end, if they are not too many to be read at once. */
  #hashNow(request: InferRequest, bytes: number): string | undefined {
    if (this.#hashedBytes + bytes > MAX_HASHED_BYTES || !isIntact(request.inputs)) return undefined;
    this.#hashedBytes += bytes;
    return hashSmallRequest(request);
  }

  #judge(): void {
    const lost = this.#lost;
    this.#lost = [];
    this.#hashedBytes = 0;
    const costly = lost.filter(({ isCostly }) => isCostly);
    const counted = costly.length > 0 ? costly : lost;
    this.#kills.add(new Set(counted.map(({ client }) => client)), costly.length > 0 ? 1 : QUICK_END);
    for (const suspect of lost) {
      if (suspect.hash === undefined) this.#sizes.set(suspect.bytes, Date.now() + SUSPECT_MS);
      else this.#suspect(suspect.hash, suspect, lost.length === 1);
    }
    this.#forgetMost();
  }

  #suspect(hash: string, { bytes, id }: Suspect, isAlone: boolean): void {
    const entry = this.#entries.get(hash) ?? { bytes, id, group: {}, ends: 0, isQuarantined: false, until: 0 };
    entry.ends++;
    entry.isQuarantined ||= isAlone && entry.ends >= MAX_ENDS;
    entry.until = Date.now() + (entry.isQuarantined ? QUARANTINE_MS : SUSPECT_MS);
    // The last in the order is forgotten last.
    this.#entries.delete(hash);
    this.#entries.set(hash, entry);
    if (!entry.isQuarantined) return;
    const { model, log, onQuarantined } = this.#parts;
    onQuarantined();
    log.error("a request has ended what runs its model again, and is refused for an hour (--poison-requests)", {
      model,
      ends: entry.ends,
      requestId: id,
      firstRequestId: entry.id,
      bytes,
    });
  }

  /** Suspects go before those that are known, the oldest first. */
  #forgetMost(): void {
    const { maxRequests } = this.#parts;
    for (const wantsSuspect of [true, false]) {
      for (const [hash, { isQuarantined }] of this.#entries) {
        if (this.#entries.size <= maxRequests) break;
        if (isQuarantined !== wantsSuspect) this.#entries.delete(hash);
      }
    }
    for (const bytes of this.#sizes.keys()) if (this.#sizes.size > maxRequests) this.#sizes.delete(bytes);
  }

  #mayBeKnown(bytes: number): boolean {
    if (this.#sizes.has(bytes)) return true;
    for (const entry of this.#entries.values()) if (entry.bytes === bytes) return true;
    return false;
  }

  #refuseClient(client: ClientAccount): void {
    const waitMs = this.#kills.waitMs(client);
    if (waitMs === 0) return;
    this.#parts.onRefused();
    const { model } = this.#parts;
    const message = `Requests of this client have ended what runs the model ${model} again and again. Send again in ${Math.ceil(waitMs / 1000)} s.`;
    throw new ServingError("resource_exhausted", message, { details: [retryInfo(Math.ceil(waitMs))] });
  }

  #refused({ id, ends }: Entry): ServingError {
    this.#parts.onRefused();
    const { model } = this.#parts;
    return invalidArgument(
      `This request has ended what runs the model ${model} ${ends} times, first as the request ${id}. For an hour after the last time it is not run (--poison-requests); do not send it again, but with other inputs.`,
    );
  }
}

/** An end, and how much it counts. */
interface End {
  readonly at: number;
  readonly weight: number;
}

/** Counts who ended what runs a model: a client if requests of no other were lost with it. */
class KillCount {
  readonly #ends = new Map<string, readonly End[]>();
  #unclear: readonly End[] = [];
  #byClientUntil = 0;

  /** Notes an end, whose requests were lost, and how much it counts. */
  add(clients: ReadonlySet<ClientAccount>, weight: number): void {
    const now = Date.now();
    const end = { at: now, weight };
    const [only] = clients;
    if (clients.size === 1 && only !== undefined) {
      const { key } = only;
      const ends = [...recent(this.#ends.get(key), now), end];
      this.#ends.delete(key);
      this.#ends.set(key, ends);
      for (const oldest of this.#ends.keys()) if (this.#ends.size > MAX_CLIENTS) this.#ends.delete(oldest);
      return;
    }
    this.#unclear = [...recent(this.#unclear, now), end];
    if (sum(this.#unclear) >= MAX_UNCLEAR) this.#byClientUntil = now + WINDOW_MS;
  }

  /** True while requests of one client only may run at a time, so that the next end says whose they are. */
  get isByClient(): boolean {
    return Date.now() < this.#byClientUntil;
  }

  /** True if nothing is remembered that still counts. */
  get isOver(): boolean {
    const now = Date.now();
    for (const [key, ends] of this.#ends) if (recent(ends, now).length === 0) this.#ends.delete(key);
    return this.#ends.size === 0 && recent(this.#unclear, now).length === 0 && !this.isByClient;
  }

  /** Milliseconds for which a client has to wait. */
  waitMs({ key }: ClientAccount): number {
    const now = Date.now();
    const ends = recent(this.#ends.get(key), now);
    const last = ends.at(-1);
    return last === undefined || sum(ends) < MAX_CLIENT_ENDS ? 0 : Math.max(0, last.at + WAIT_MS - now);
  }
}

function recent(ends: readonly End[] | undefined, now: number): readonly End[] {
  return (ends ?? []).filter(({ at }) => now - at < WINDOW_MS);
}

function sum(ends: readonly End[]): number {
  return ends.reduce((total, { weight }) => total + weight, 0);
}
