import { ServingError } from "../../errors.ts";
import { type CancelSignal, type CancelSource, followSignal, unlessAborted } from "../async/cancel-source.ts";
import type { CallLimits } from "../limits/call-limits.ts";
import type { MemoryShare } from "../limits/memory/memory-share.ts";
import { StreamTurns } from "../limits/stream-turns.ts";
import { MalformedMessage } from "./host-port.ts";
import { PartCredit } from "./part-window.ts";
import type { PartReceiver, RpcClient, RpcResponse } from "./rpc-client.ts";

/** An answer that comes in parts from another thread, and who takes them; its functions are called as methods. */
export interface PartReaderOptions<Part> {
  /** Aborts when the answer is not wanted any more. */
  readonly signal: CancelSignal;
  /** Those of the request; absent = none. */
  readonly limits?: CallLimits | undefined;
  /** Counts the parts that are not written yet; absent = they are not counted. */
  readonly memory?: Pick<MemoryShare, "grow" | "shrink" | "partBytes"> | undefined;
  /** The connection to the thread, which gets credit for the parts that were taken. */
  readonly client: Pick<RpcClient, "credit">;
  /** Reads a part that came; what it throws is the sender's fault. */
  read(received: RpcResponse): Part;
  /** As the sender counts them. */
  bytesOf(part: Part): number;
  /** Resolves when there is room for the next part; rejects if no more can be written. */
  write(part: Part): Promise<void>;
  /** Told now and then, while others wait for a place that the answer holds; absent = it makes no difference. */
  crowded?(): void;
  /** Called when the first part has come. */
  onFirst?(): void;
  /** Called when the request has its last answer, or an error in place of that: no part comes any more. */
  onLast?(): void;
}

interface Received<Part> {
  readonly part: Part;
  readonly bytes: number;
}

/** Writes the parts that another thread sends, one after the other, and gives credit for them. */
export class PartReader<Part> implements PartReceiver {
  /** Aborts with the answer's signal, or with the reason why its parts cannot be written. */
  readonly source: CancelSource;
  readonly #options: PartReaderOptions<Part>;
  readonly #waiting: Received<Part>[] = [];
  readonly #turns: StreamTurns;
  readonly #stopWatching: () => void;
  #credit: PartCredit | undefined;
  #count = 0;
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;

  constructor(options: PartReaderOptions<Part>) {
    this.#options = options;
    this.#turns = new StreamTurns(options.limits?.client);
    const { source, leave } = followSignal(options.signal);
    this.source = source;
    this.#stopWatching = leave;
  }

  get signal(): CancelSignal {
    return this.#options.signal;
  }

  /** Number of parts that came. */
  get count(): number {
    return this.#count;
  }

  /** Settles as the request does, but only once all parts that came before were written, or cannot be any more. */
  async settle<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } finally {
      this.#options.onLast?.();
      try {
        // Those that came before a failure stand.
        await this.#written();
      } finally {
        this.#release();
      }
    }
  }

  take(received: RpcResponse, id: number): void {
    const { client, memory } = this.#options;
    const part = this.#read(received);
    const bytes = this.#options.bytesOf(part);
    this.#credit ??= new PartCredit((parts, sum) => client.credit(id, parts, sum));
    this.#credit.came(bytes);
    if (this.#count++ === 0) this.#options.onFirst?.();
    try {
      memory?.grow(bytes);
    } catch (reason) {
      this.source.abort(reason);
      return;
    }
    this.#waitingBytes += bytes;
    this.#waiting.push({ part, bytes });
    this.#writing ??= this.#writeAll();
  }

  crowded(): void {
    this.#options.crowded?.();
  }

  /** Resolves once every part that came was written; rejects with the reason why one was not, or the answer's end. */
  async #written(): Promise<void> {
    if (this.#writing !== undefined) await unlessAborted(this.#writing, this.source);
    if (this.source.aborted) throw this.source.reason;
  }

  /** Gives back the memory of the parts that are not written. */
  #release(): void {
    this.#stopWatching();
    this.#waiting.length = 0;
    this.#shrink(this.#waitingBytes);
  }

  #read(received: RpcResponse): Part {
    try {
      return this.#options.read(received);
    } catch (cause) {
      if (cause instanceof MalformedMessage) throw cause;
      throw new MalformedMessage("it has a part that cannot be read", { cause });
    }
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    const { memory } = this.#options;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const turn = this.#turns.next();
        if (turn !== undefined) await turn;
        // The answer may be over by now; the part's memory is given back with it.
        if (this.source.aborted) return;
        if (memory !== undefined) memory.partBytes = next.bytes;
        await this.#options.write(next.part);
        this.#shrink(next.bytes);
        this.#credit?.took(next.bytes);
      }
    } catch (reason) {
      this.source.abort(ServingError.from(reason));
    } finally {
      this.#writing = undefined;
    }
  }

  /** After its end, the answer's memory is not counted here any more. */
  #shrink(bytes: number): void {
    const least = Math.min(bytes, this.#waitingBytes);
    this.#waitingBytes -= least;
    if (least > 0) this.#options.memory?.shrink(least);
  }
}
