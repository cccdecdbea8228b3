/** Waits of one way to ask since the last report. */
export interface NeighbourReport {
  readonly requests: number;
  /** The longest wait for an answer, in milliseconds. */
  readonly longestMs: number;
  /** The longest wait, less what the server and the client themselves waited for a core meanwhile. */
  readonly longestOwnMs: number;
  /** The longest time that a thread of the server that has to do with connections computed during one wait. */
  readonly longestBusyMs: number;
  /** The wait that one of a hundred exceeds, as {@link longestOwnMs}. */
  readonly p99OwnMs: number;
  /** Answers that said that the server has no room. */
  readonly refused: number;
  /** All other failures by their text. */
  readonly failures: readonly string[];
}

/** Requests of the clients that suffer, by their sizes; a login is of a user that the server has not seen before. */
export type WayName = "tiny" | "1 KB" | "64 KB" | "1 MB" | "login";
export type Wire = "http" | "grpc";
/** Reports by `tiny http` and the like. */
export type NeighbourReports = Readonly<Record<`${WayName} ${Wire}`, NeighbourReport>>;

/** Addresses and form of a client's requests. */
export interface NeighbourJob {
  readonly grpc: string;
  readonly http: string;
  readonly pid: number;
  readonly authorization?: string | undefined;
  readonly ways: readonly WayName[];
  /** The model that is asked. */
  readonly model: string;
  /** A request that any user may send, and no other caller: for metrics, or for a model's description. */
  readonly login: "metrics" | "read";
}

/**
 * Messages of the parent to the client's process: a job, `report`, which is answered and begins a new one, as often as
 * wanted, and `end`, after which there may be another job.
 */
export type NeighbourCommand = NeighbourJob | "report" | "end";
