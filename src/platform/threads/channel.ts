import type { WireRecord } from "./frame.ts";
import { readFrame } from "./frame-reader.ts";
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
  readonly #malformedListeners: MalformedListener[] = [];
  #scheduled = false;
  #open = true;

  /**
   * `onRecord` may throw {@link MalformedMessage} for a record that the other side should not have sent, which ends the
   * connection.
   */
  constructor(port: HostPort, onRecord: (record: WireRecord) => void, flushing: Flushing = "soon") {
    this.#port = port;
    // Both sides of a port between processes have the same limits.
    this.#writer = new FrameWriter(port.copies === true ? port.maxMetaBytes : undefined);
    this.#flushing = flushing;
    port.onMessage((message) => this.#receive(message, onRecord));
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

  /** Calls back once the connection has ended, from either side. */
  onClose(listener: () => void): void {
    this.#port.onClose(listener);
  }

  /** Calls back with the reason when a malformed message arrives; the connection has ended then. */
  onMalformed(listener: MalformedListener): void {
    this.#malformedListeners.push(listener);
  }

  /** Posts the collected records, then ends the connection. */
  close(): void {
    this.flush();
    this.#open = false;
    this.#port.close();
  }

  /** Ends the connection without posting the collected records. */
  abandon(): void {
    this.#open = false;
    this.#port.close();
  }

  #receive(message: unknown, onRecord: (record: WireRecord) => void): void {
    if (!this.#open) return;
    try {
      for (const record of readFrame(message, this.#port.maxMetaBytes)) onRecord(record);
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      this.abandon();
      for (const listener of this.#malformedListeners) listener(reason);
    }
  }
}
