/** The requests of a model that are recorded, and their files; what is left out is as the server's settings say. */
export interface RequestLogOptions {
  /** Beginning of the files' paths; where neither the model nor the server has one, nothing is recorded. */
  readonly prefix?: string | undefined;
  /** The part of the requests that is recorded, from 0 to 1. */
  readonly rate?: number | undefined;
  /** Size at which a file ends and the next one begins, in bytes. */
  readonly maxBytes?: number | undefined;
  /** Number of a model's files that are kept; the oldest go. */
  readonly files?: number | undefined;
}

/** Requests that a protocol records in a form of its own, by the fields of tensorflow.serving.PredictionLog; all others are recorded as Predict. */
export type RecordedKind = "classify_log" | "regress_log" | "multi_inference_log" | "session_run_log";

/** A message that is serialised where there is room for it; its memory is given away. */
export interface RecordedMessage {
  /** Its size, about. */
  readonly bytes: number;
  encode(): Uint8Array;
}

/** A request that is recorded in its protocol's own form. */
export interface Recording {
  /** Adds the response, which ends the record; a request without one is not recorded. */
  finish(response: RecordedMessage): void;
}
