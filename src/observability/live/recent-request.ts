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
