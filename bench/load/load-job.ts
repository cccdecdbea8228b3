import type { LoadMessage } from "./load-connection.ts";

/** A server, and the request to send to it. */
export interface LoadTarget {
  readonly protocol: "grpc" | "http";
  readonly port: number;
  readonly path: string;
  /** Sent in turn. */
  readonly messages: readonly LoadMessage[];
}

/** A target, and how hard to press. */
export interface LoadJob extends LoadTarget {
  readonly connections: number;
  /** Requests under way, over all connections; HTTP takes one per connection. */
  readonly inFlight: number;
  /** Ends after so many seconds … */
  readonly seconds?: number;
  /** … or after so many requests. */
  readonly requests?: number;
  /** Begins no more than so many a second. */
  readonly perSecond?: number;
}

/** Measurements of one job. */
export interface LoadResult {
  readonly requests: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests that were not answered as expected, by what was wrong. */
  readonly problems: Readonly<Record<string, number>>;
}
