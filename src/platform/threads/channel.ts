import type { WireRecord } from "./frame.ts";
import { readFrameInTurns } from "./frame-reader.ts";
import { FrameWriter } from "./frame-writer.ts";
import { type HostPort, type MalformedListener, MalformedMessage } from "./host-port.ts";
import { runSoon } from "./own-built-ins.ts";

/**
 * Time at which a channel posts messages: `soon` = with everything else of this turn of the event loop; `held` = when
 * {@link Channel.flush} is called.
 */
export type Flushing = "soon" | "held";

/** One end of a connection between two hosts: collects records and posts them as one frame. */
export class Channel {
  readonly #port: HostPort;
  readonly #writer: FrameWriter;
  readonly #flushing: Flushing;
  readonly #onRecord: (record: WireRecord) => void;
  readonly #malformedListeners: MalformedListener[] = [];
  #scheduled = false;
  #open = true;
  /** True once this side has closed it: nothing more is read. */
  #isLeft = false;
  /** A message that is read in several turns, those behind it, and the work that waits for all of them. */
  #rest: Records | undefined;
  readonly #behind: unknown[] = [];
  readonly #atEnd: (() => void)[] = [];

  /**
   * `onRecord` may throw {@link MalformedMessage} for a record that the other side should not have sent, which ends the
   * connection.
   */
  constructor(port: HostPort, onRecord: (record: WireRecord) => void, flushing: Flushing = "soon") {
    this.#port = port;
    // Both sides of a port between processes have the same limits.
    this.#writer = new FrameWriter(port.copies === true ? port.maxMetaBytes : undefined);
    this.#flushing = flushing;
    this.#onRecord = onRecord;
    port.onMessage((message) => this.#receive(message));
    port.onClose(() => {
      this.#open = false;
    });
  }

  /** True while the other side may still receive. */
  get isOpen(): boolean {
    return this.#open;
  }

  /**
   * Sends a record; with `transfer`, large tensors that own their buffers are
   * transferred, and no longer usable on this side.
   */
  send(record: WireRecord, { transfer = false } = {}): void {
    if (!this.#open) return;
    this.#writer.write(record, transfer);
    if (this.#flushing === "held" || this.#scheduled) return;
    this.#scheduled = true;
    // Not a microtask: those run before the next record of the same turn is sent, so that each record would be a frame.
    runSoon(() => this.flush());
  }

  /** Posts the collected records. */
  flush(): void {
    this.#scheduled = false;
    if (this.#writer.isEmpty || !this.#open) return;
    const { frame, transfer } = this.#writer.take();
    this.#port.post(frame, transfer);
    if (this.#port.copies === true) FrameWriter.takeBack(transfer);
  }

  /** Calls back once the connection has ended, from either side, and all that came before was read. */
  onClose(listener: () => void): void {
    this.#port.onClose(() => {
      if (this.#rest === undefined) listener();
      else this.#atEnd.push(listener);
    });
  }

  /** Calls back with the reason when a malformed message arrives; the connection has ended then. */
  onMalformed(listener: MalformedListener): void {
    this.#malformedListeners.push(listener);
  }

  /** Posts the collected records, then ends the connection. */
  close(): void {
    this.flush();
    this.abandon();
  }

  /** Ends the connection without posting the collected records. */
  abandon(): void {
    this.#open = false;
    this.#isLeft = true;
    this.#port.close();
  }

  #receive(message: unknown): void {
    if (!this.#open) return;
    if (this.#rest === undefined) this.#read(readFrameInTurns(message, this.#port.maxMetaBytes));
    else this.#behind.push(message);
  }

  #read(records: Records): void {
    this.#rest = undefined;
    try {
      for (let next = records.next(); next.done !== true; next = records.next()) {
        if (next.value === undefined) {
          this.#rest = records;
          runSoon(() => this.#goOn(records));
          return;
        }
        this.#onRecord(next.value);
      }
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      this.abandon();
      for (const listener of this.#malformedListeners) listener(reason);
    }
  }

  /** Also if the other side has closed meanwhile, as it may right after its last message. */
  #goOn(records: Records): void {
    if (this.#isLeft) this.#rest = undefined;
    else this.#read(records);
    while (this.#rest === undefined && !this.#isLeft && this.#behind.length > 0)
      this.#read(readFrameInTurns(this.#behind.shift(), this.#port.maxMetaBytes));
    if (this.#rest === undefined) for (const listener of this.#atEnd.splice(0)) listener();
  }
}

/** Those of a message; undefined = the rest is for a later turn of the event loop. */
type Records = Iterator<WireRecord | undefined>;
