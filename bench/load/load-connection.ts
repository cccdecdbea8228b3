import type { Expected } from "./answer-check.ts";

/** One request of a load, and what its answer must be. */
export interface LoadMessage {
  /** gRPC: the message without its five-byte prefix. HTTP: the body. */
  readonly body: Buffer;
  /** HTTP: more headers, each line ended by CR LF. */
  readonly headers?: string;
  /** gRPC: with the prefix. HTTP: the body. */
  readonly expected: Expected;
}

/** Told how a request ended: undefined = as expected, else what was wrong in a word or two. */
export type Done = (problem: string | undefined) => void;

/**
 * A connection that costs its own process as little as can be, so that the load does not measure the load generator.
 */
export interface LoadConnection {
  /** Sends one request; more may be under way where the protocol allows. */
  send(message: LoadMessage, done: Done): void;
  close(): void;
}

/** Ends a request on a dead connection; not at once, since a caller that asks in a loop would spin. */
export function failLater(done: Done): void {
  setTimeout(() => done("connection closed"), 10);
}
