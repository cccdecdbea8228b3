/** A request to send again and again, and where. Plain data: it crosses to the load's threads. */
export interface LoadTarget {
  readonly protocol: "grpc" | "http";
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Connections of gRPC; HTTP has one for each open request. */
  readonly connections: number;
}

/** A load: a number of requests that are always open, or a number that begins each second. */
export interface LoadJob {
  readonly target: LoadTarget;
  /** Closed load: open requests at any time. Open load: the most of them; others that are due wait. */
  readonly concurrency: number;
  /** Requests per second of an open load; absent = closed. */
  readonly rate?: number;
}

/** Measurements of one thread since its last batch. */
export interface LoadBatch {
  /** Length of the time that it covers. */
  readonly seconds: number;
  /** Of the requests that were answered well in that time; in an open load from the time at which each was due. */
  readonly latenciesMs: Float64Array;
  /** Requests that failed, by what was wrong. */
  readonly failures: Readonly<Record<string, number>>;
  /** Share of the time in which the thread itself was busy, from 0 to 1. */
  readonly busyShare: number;
  /** Requests of an open load that are due and not sent. */
  readonly backlog: number;
}
