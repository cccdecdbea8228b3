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
