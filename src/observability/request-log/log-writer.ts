import { type ErrorCode, publicText } from "../../errors.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import type { Logger } from "../logger.ts";
import { type FileLimits, LogFiles, writeProblem } from "./log-files.ts";
import { type LoggedRequest, toRecordJob } from "./logged-request.ts";

/** Milliseconds for which records are gathered before they are written. */
const GATHER_MS = 100;
/** Written at a time, in bytes. */
const BATCH_BYTES = 1024 * 1024;
/** Bytes that wait, at most. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Time after a failure before the next attempt, in milliseconds. */
const PAUSE_MS = 10_000;

/** Code and text of the reason why a request is not recorded. */
type Loss = readonly [ErrorCode, string];

const TOO_SLOW: Loss = [
  "resource_exhausted",
  `more than ${sizeText(MAX_WAITING_BYTES)}, or half of --max-queue-bytes, waits to be written. Lower --request-log-rate, or write to a faster disk.`,
];

/** Larger requests and answers are not recorded: the time that a copy takes would delay the answer. */
const MAX_COPY_BYTES = 32 * 1024 * 1024;
const TOO_LARGE: Loss = [
  "out_of_range",
  `its inputs, its outputs or their parts together have more than ${sizeText(MAX_COPY_BYTES)}, whose copy would delay it.`,
];

/** A request that waits to be written, and the memory that it holds. */
interface Waiting {
  readonly logged: LoggedRequest;
  readonly bytes: number;
  readonly shares: readonly MemoryShare[];
}

/** Choices for the memory of a record. */
interface RoomOptions {
  /** Memory that it has, to be made larger; default: it has none. */
  readonly share?: MemoryShare | undefined;
  /** True if its answer may take long: it leaves half of the room to others. Default false. */
  readonly lasts?: boolean;
}

/** Writes the records of one model in the order of their answers, asynchronously. */
export class LogWriter {
  readonly model: string;
  /** Limits of the files from the next write on. */
  limits: FileLimits;
  readonly #files: LogFiles;
  readonly #losses: LossReport;
  readonly #counts = new Map<RecordedCount["outcome"], number>();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failure = "";
  #pausedUntil = 0;

  constructor(prefix: string, model: string, { limits, log }: { readonly limits: FileLimits; readonly log: Logger }) {
    this.model = model;
    this.limits = limits;
    this.#files = new LogFiles(prefix, model);
    this.#losses = new LossReport(model, log);
  }

  /** Numbers of requests by the outcome of their record. */
  get counts(): ReadonlyMap<RecordedCount["outcome"], number> {
    return this.#counts;
  }

  /**
   * Memory for a record. Undefined, with a count of the loss, if there is no room for it: what a share that was given
   * had is given back then.
   */
  reserve(
    memory: MemoryBudget,
    bytes: number,
    { lasts, share = memory.open() }: RoomOptions = {},
  ): MemoryShare | undefined {
    const room = lasts === true ? MAX_WAITING_BYTES / 2 : MAX_WAITING_BYTES;
    const isTooLarge = share.bytes + bytes > MAX_COPY_BYTES;
    const refusal = this.#refusal(memory, bytes, { room, isTooLarge }) ?? grow(share, bytes);
    if (refusal === undefined) {
      this.#waitingBytes += bytes;
      return share;
    }
    this.#lose(...refusal);
    this.release(share);
    return undefined;
  }

  /** Gives memory back. */
  release(share: MemoryShare): void {
    this.#waitingBytes -= share.bytes;
    share.release();
  }

  #refusal(
    memory: MemoryBudget,
    bytes: number,
    { room, isTooLarge }: { readonly room: number; readonly isTooLarge: boolean },
  ): Loss | undefined {
    if (this.#isPaused()) return ["unavailable", this.#failure];
    if (isTooLarge) return TOO_LARGE;
    return memory.isHalfFull || this.#waitingBytes + bytes > room ? TOO_SLOW : undefined;
  }

  /** Writes a request soon; its memory was reserved. */
  add(logged: LoggedRequest, shares: readonly MemoryShare[]): void {
    const bytes = shares.reduce((sum, share) => sum + share.bytes, 0);
    this.#waiting.push({ logged, bytes, shares });
    if (this.#waitingBytes >= BATCH_BYTES) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), GATHER_MS).unref();
  }

  /** Writes all that waits. */
  async flush(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  /** Writes all waiting records, and reports the lost ones. */
  async close(): Promise<void> {
    await this.flush();
    this.#losses.close();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      const records = await this.#toRecords(batch);
      if (records.length > 0) await this.#append(records);
      for (const { shares } of batch) for (const share of shares) this.release(share);
    }
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((one, index) => {
      bytes += one.bytes;
      return index > 0 && bytes > BATCH_BYTES;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #toRecords(batch: readonly Waiting[]): Promise<Uint8Array[]> {
    const records: Uint8Array[] = [];
    for (const { logged, bytes } of batch) {
      try {
        const isLarge = bytes > LARGE_MESSAGE_BYTES;
        records.push(
          await (isLarge ? codecs.run(toRecordJob, [logged], { transfer: "owned" }) : toRecordJob.run(logged)),
        );
      } catch (reason) {
        this.#lose("invalid_argument", `its tensors cannot be written: ${publicText(reason)}`);
      }
    }
    return records;
  }

  async #append(records: readonly Uint8Array[]): Promise<void> {
    if (this.#isPaused()) return this.#lose("unavailable", this.#failure, records.length);
    try {
      const [only, ...others] = records as [Uint8Array, ...Uint8Array[]];
      await this.#files.append(others.length === 0 ? only : Buffer.concat(records), this.limits);
      this.#count("ok", records.length);
    } catch (reason) {
      this.#failure = writeProblem(this.#files.path, reason);
      this.#pausedUntil = performance.now() + PAUSE_MS;
      this.#lose("unavailable", this.#failure, records.length);
    }
  }

  #lose(code: ErrorCode, reason: string, count = 1): void {
    this.#count(code, count);
    this.#losses.add(reason, count);
  }

  #count(outcome: RecordedCount["outcome"], count: number): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + count);
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }
}

function grow(share: MemoryShare, bytes: number): Loss | undefined {
  try {
    share.grow(bytes);
    return undefined;
  } catch {
    return TOO_SLOW;
  }
}

/** Milliseconds between two lines of the log. */
const INTERVAL_MS = 60_000;

/** Logs requests that are not recorded: the first immediately, further ones once a minute. */
class LossReport {
  readonly #model: string;
  readonly #log: Logger;
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(model: string, log: Logger) {
    this.#model = model;
    this.#log = log;
  }

  /** Counts lost requests with a reason, which is a sentence with the remedy. */
  add(reason: string, count = 1): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
    if (this.#timer === undefined) this.tell();
  }

  /** Logs the losses since the last time. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counts.size === 0) return;
    for (const [reason, count] of this.#counts) {
      const requests = count === 1 ? "1 request was" : `${count} requests were`;
      this.#log.warn(`${requests} not recorded: ${reason}`, { model: this.#model, count });
    }
    this.#counts.clear();
    this.#timer = setTimeout(() => this.tell(), INTERVAL_MS).unref();
  }

  /** Logs the remaining losses, and stops. */
  close(): void {
    this.tell();
    clearTimeout(this.#timer);
  }
}
