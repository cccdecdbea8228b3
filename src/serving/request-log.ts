/** The recorded share of a model's requests, and their files; absent members have the server's settings. */
export interface RequestLogOptions {
  /** Path prefix of the files; if neither the model nor the server has one, no request is recorded. */
  readonly prefix?: string | undefined;
  /** The share of the requests that is recorded, from 0 to 1. */
  readonly rate?: number | undefined;
  /** Size at which a file ends and the next one begins, in bytes. */
  readonly maxBytes?: number | undefined;
  /** Number of a model's files that are kept; the oldest are deleted. */
  readonly files?: number | undefined;
}

/** The folder for requests that end a process which runs a model. */
export interface FatalRequestOptions {
  /** It holds 16 files at most; the oldest are deleted. */
  readonly folder: string;
  /**
   * The models that ran when the process before this one ended: what it left of others is deleted. Default: not known,
   * and all that it left is kept.
   */
  readonly models?: readonly string[] | undefined;
}

/**
 * Requests that a protocol records in its own form, by the fields of tensorflow.serving.PredictionLog; all others are
 * recorded as Predict.
 */
export type RecordedKind = "classify_log" | "regress_log" | "multi_inference_log" | "session_run_log";

/** A message that is serialised if there is room for it; its memory is transferred. */
export interface RecordedMessage {
  /** Its approximate size, in bytes. */
  readonly bytes: number;
  encode(): Uint8Array;
}

/** A request that is recorded in its protocol's own form. */
export interface Recording {
  /** Adds the response, which ends the record; a request without one is not recorded. */
  finish(response: RecordedMessage): void;
}
