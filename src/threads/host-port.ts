import { MessagePort } from "node:worker_threads";

/** As they are before user code may replace them. */
const { postMessage, on, once, close } = MessagePort.prototype;
const { apply } = Reflect;

/**
 * Connection between two hosts: a worker thread's message port today; a child process may follow where a native crash
 * must not take the server along. Messages arrive in order; a message to a closed port is lost without an error.
 */
export interface HostPort {
  /** Sends a message; the buffers in `transfer` are gone from this side. */
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Calls back with each message; with undefined for one that could not be read. */
  onMessage(listener: (message: unknown) => void): void;
  /** Calls back once, when either side closed or the other side's thread ended. */
  onClose(listener: () => void): void;
  close(): void;
}

/** A worker thread's message port as a {@link HostPort}. */
export function toHostPort(port: MessagePort): HostPort {
  return {
    // An empty list costs as much to read as a small message.
    post: (message, transfer) => apply(postMessage, port, transfer.length === 0 ? [message] : [message, transfer]),
    onMessage: (listener) => {
      apply(on, port, ["message", listener]);
      apply(on, port, ["messageerror", () => listener(undefined)]);
    },
    onClose: (listener) => apply(once, port, ["close", listener]),
    close: () => apply(close, port, []),
  };
}
