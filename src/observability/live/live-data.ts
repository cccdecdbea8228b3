import type { LogLevel } from "../log-filter.ts";

/** One moment of a server, with what happened since the one before. */
export interface LiveSample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Requests to models per second, and those of them that failed. */
  readonly requests: number;
  readonly failures: number;
  /** Milliseconds that requests took, by percentile; null = there was none. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** Requests that wait or run now. */
  readonly inFlight: number;
  /** Milliseconds that a request waited for its model, and rows of a run, on average; null = nothing ran. */
  readonly queueMs: number | null;
  readonly rows: number | null;
  /** Threads of hooks and models. */
  readonly threads: number;
  readonly rssBytes: number;
}

/** One line of a log. */
export interface LogLine {
  /** Rises by one with each line, and is higher once the server was started again. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly level: Exclude<LogLevel, "silent">;
  readonly message: string;
  /** The fields as JSON; empty = there are none. */
  readonly fields: string;
}

/** One request that is over, and its parts. */
export interface RecentRequest {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly model: string;
  readonly version: string;
  /** `POST /v2/models/:name/infer`, or gRPC's method. */
  readonly route: string;
  readonly protocol: string;
  /** HTTP's status, or gRPC's name of a code. */
  readonly status: string;
  readonly totalMs: number;
  readonly parts: readonly RecentPart[];
}

/** A part of a request, in milliseconds since its start. */
export interface RecentPart {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}
