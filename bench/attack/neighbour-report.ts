/** Waits of a client that sent tiny requests. */
export interface NeighbourReport {
  readonly requests: number;
  /** The longest wait for an answer, in milliseconds. */
  readonly longestMs: number;
  /** The longest wait, less what the server and the client themselves waited for a core meanwhile. */
  readonly longestOwnMs: number;
  /** The longest time that the server's main thread computed during one wait. */
  readonly longestBusyMs: number;
  /** Answers that said that the server has no room. */
  readonly refused: number;
  /** All other failures by their text. */
  readonly failures: readonly string[];
}

/** Addresses and form of a client's tiny requests. */
export interface NeighbourJob {
  readonly grpc: string;
  readonly http: string;
  readonly pid: number;
  readonly authorization?: string | undefined;
  /** `infer`: inference of one number. `live`: health checks, for models and hooks that an attack keeps busy. */
  readonly asks: "infer" | "live";
}

/**
 * Messages of the parent to the client's process: a job first, then `report`, which is answered and begins a new one,
 * as often as wanted.
 */
export type NeighbourCommand = NeighbourJob | "report";
