import { ServingError } from "../../errors.ts";
import { sizeText } from "../../platform/text/size-text.ts";

/** Memory that models take together, in bytes. */
export interface MemoryBook {
  /** Limit of all; infinite = none. */
  readonly maxBytes: number;
  /** That of the loaded models, of the loads under way, and of copies until they are freed. */
  readonly usedBytes: number;
  /** Number of the loads under way, and their memory: the part of it that they have taken so far is not known. */
  readonly loads: number;
  readonly loadingBytes: number;
  /** End of the last load, on the clock of performance.now(). */
  readonly lastLoad: number;
}

/** A load that waits for room. */
export interface MemoryDemand {
  /** Its name, to begin a sentence. */
  readonly what: string;
  readonly bytes: number;
  /** Its beginning, on the clock of performance.now(). */
  readonly since: number;
  /** The time until which copies that were chosen for it may give their memory; infinite while they do. */
  readonly again?: number;
}

/** A copy in memory that no request holds. */
export interface IdleCopy {
  /** Its last use, on the clock of performance.now(). */
  readonly lastUse: number;
  readonly memoryBytes: number;
}

/** Everything that decides whether a load gets its memory. */
interface Seen<Copy> {
  readonly need: MemoryDemand;
  readonly book: MemoryBook;
  /** Those that were not chosen for another load. */
  readonly idle: readonly Copy[];
  /** Bytes that loads need for which copies were chosen, less those of these copies; absent = there are none. */
  readonly promisedBytes?: number;
  /** Memory that is free besides, with the name of the machine or container; undefined = not known, or any will do. */
  readonly free?: { readonly bytes: number; readonly of: string } | undefined;
  readonly now: number;
}

/** The next step of a load that waits for room, and the row that says so. */
export type RoomAction<Copy> =
  | { readonly row: string; readonly do: "take" | "wait" }
  | { readonly row: string; readonly do: "refuse"; readonly error: ServingError }
  | { readonly row: string; readonly do: "park"; readonly copies: readonly Copy[] };

/** Time that a load waits for models in use to become idle, in milliseconds. */
const WAIT_MS = 10_000;
/** The same while other loads run, whose models can be unloaded after them; the time begins again after each. */
const WAIT_FOR_LOADS_MS = 60_000;
/** Time after which a load that is late is planned again without an event, in milliseconds. */
const LATE_MS = 100;
/** Maximum ratio of the measured size to the estimate: requests and other work take memory meanwhile. */
const MAX_FACTOR = 4;
/** Smaller models are not measured: they are lost in the process's usual changes of memory. */
const MIN_MEASURED_BYTES = 32 * 1024 * 1024;

/**
 * The next step of a load that waits for room, the first that holds; undefined = it waits on. The rows:
 *
 * - R1: it is larger than all may be together.
 * - R2: there is room.
 * - R3: copies that were chosen for it are on their way.
 * - R4: the machine has no room, and no load under way may turn out smaller.
 * - R5: copies that were chosen for others will have left enough.
 * - R6: idle copies together have enough; those that were not used for longest go, and no more than it needs. Copies
 *   that count as idle and give nothing are not asked for ever.
 * - R7: models in use did not become idle in time.
 */
export function planRoom<Copy extends IdleCopy>(seen: Seen<Copy>): RoomAction<Copy> | undefined {
  const { need, book, idle, promisedBytes = 0, free, now } = seen;
  const lacking = book.usedBytes + need.bytes - book.maxBytes;
  const isFree = free === undefined || need.bytes <= free.bytes - book.loadingBytes;
  const lateMs = now - endOfWait(need, book);
  if (need.bytes > book.maxBytes) return { row: "R1", do: "refuse", error: tooLarge(need, book) };
  if (lacking <= 0 && isFree) return { row: "R2", do: "take" };
  if (now < (need.again ?? 0)) return { row: "R3", do: "wait" };
  if (lacking <= 0 && free !== undefined && book.loads === 0)
    return { row: "R4", do: "refuse", error: notFree(need, free) };
  const missing = lacking + promisedBytes;
  if (lacking > 0 && missing <= 0) return { row: "R5", do: "wait" };
  const copies = lacking > 0 && lateMs <= WAIT_MS ? leastUsed(idle, missing) : [];
  if (copies.length > 0) return { row: "R6", do: "park", copies };
  return lateMs > 0 ? { row: "R7", do: "refuse", error: allInUse(need, book) } : undefined;
}

/** The time at which a load that waits has to be planned again without an event. */
export function roomWakeOf(need: MemoryDemand, book: MemoryBook, now: number): number {
  if (need.again !== undefined && need.again > now) return need.again;
  // One that waits for the copies of others is late, and is planned again when they have left.
  return Math.max(endOfWait(need, book) + 1, now + LATE_MS);
}

function endOfWait({ since }: MemoryDemand, { loads, lastLoad }: MemoryBook): number {
  return Math.max(since, lastLoad) + (loads > 0 ? WAIT_FOR_LOADS_MS : WAIT_MS);
}

/** Idle copies that have so much memory together; none if all of them have less. */
function leastUsed<Copy extends IdleCopy>(idle: readonly Copy[], bytes: number): readonly Copy[] {
  let left = bytes;
  const chosen: Copy[] = [];
  for (const copy of idle.toSorted((a, b) => a.lastUse - b.lastUse)) {
    if (left <= 0) break;
    left -= copy.memoryBytes;
    chosen.push(copy);
  }
  return left <= 0 ? chosen : [];
}

/** A model that was loaded before: the estimate from its files, which may be too small, and its size. */
export interface KnownSize {
  readonly expected: number;
  readonly bytes: number;
}

/** The size to reserve for an estimate: as much as last time; less in proportion if its files have become smaller. */
export function reservedSize(expected: number, before: KnownSize | undefined): number {
  if (before === undefined) return expected;
  return Math.max(expected, before.expected > expected ? (before.bytes * expected) / before.expected : before.bytes);
}

/** The size that counts, of an estimate and the growth of the process during the load; undefined = not measured. */
export function measuredSize(estimate: number, grown: number | undefined): number {
  if (grown === undefined || estimate < MIN_MEASURED_BYTES) return estimate;
  return Math.max(estimate, Math.min(grown, MAX_FACTOR * estimate));
}

/** The refusal of a load that is larger than all may be together. */
export function tooLarge(
  { what, bytes }: Pick<MemoryDemand, "what" | "bytes">,
  { maxBytes }: MemoryBook,
): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and all models together may have ${sizeText(maxBytes)} (--model-memory); raise that, or serve a smaller model.`,
  );
}

function allInUse({ what, bytes }: MemoryDemand, { maxBytes }: MemoryBook): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and the models that are in use leave less of ${sizeText(maxBytes)} (--model-memory); try again later, or raise that.`,
  );
}

function notFree({ what, bytes }: MemoryDemand, free: { readonly bytes: number; readonly of: string }): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and ${free.of} has ${sizeText(free.bytes)} free; give it more memory, serve less, let --model-memory unload what is idle, or try all the same with --memory-check=false.`,
  );
}

function exhausted(message: string): ServingError {
  return new ServingError("resource_exhausted", message);
}
