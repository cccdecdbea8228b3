/** Notified once when a request is over: undefined = answered well, else what was wrong in a few words. */
export type Done = (problem: string | undefined) => void;

/** Sends the request of a target over its connections. */
export interface Sender {
  send(done: Done): void;
  /** Ends all connections; open requests are over. */
  close(): void;
}
