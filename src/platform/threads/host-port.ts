import { MessagePort } from "node:worker_threads";

/** Saved before user code may replace them. */
const { postMessage, on, once, close } = MessagePort.prototype;
const { apply } = Reflect;

/**
 * Connection between two hosts, for example worker threads. Messages arrive in order; a message to a closed port is
 * lost without an error.
 */
export interface HostPort {
  /**
   * True if a message is copied while it is posted, so that this side can go on using its buffers. Default false.
   */
  readonly copies?: boolean;
  /** Bytes of plain data that a record of the other side may have. Default: as many as it likes. */
  readonly maxMetaBytes?: number;
  /** Sends a message; the buffers in `transfer` are no longer usable on this side. */
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Calls back with each message; with undefined for one that could not be read. */
  onMessage(listener: (message: unknown) => void): void;
  /** Calls back once, when either side has closed or the other side's thread has ended. */
  onClose(listener: () => void): void;
  close(): void;
}

/** A worker thread's message port as a {@link HostPort}. */
export function toHostPort(port: MessagePort, { maxMetaBytes }: Pick<HostPort, "maxMetaBytes"> = {}): HostPort {
  return {
    ...(maxMetaBytes !== undefined && { maxMetaBytes }),
    // An empty list takes as long to read as a small message.
    post: (message, transfer) => apply(postMessage, port, transfer.length === 0 ? [message] : [message, transfer]),
    onMessage: (listener) => {
      apply(on, port, ["message", listener]);
      apply(on, port, ["messageerror", () => listener(undefined)]);
    },
    onClose: (listener) => apply(once, port, ["close", listener]),
    close: () => apply(close, port, []),
  };
}

/** Called with the error when a thread sent a malformed message. */
export type MalformedListener = (reason: MalformedMessage) => void;

/** The error for a message from another thread that violates the protocol; its text is the reason. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}
