import { bytesTag, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { type LogMetadata, logMetadataParts, readLogMetadata } from "./log-metadata.ts";

/**
 * Logs of tensorflow.serving.PredictionLog by name: field number. Each has its request
 * as field 1, its response as field 2.
 */
export const LOGS = {
  classify_log: 2,
  regress_log: 3,
  multi_inference_log: 4,
  session_run_log: 5,
  predict_log: 6,
  predict_streamed_log: 7,
} as const;
const METADATA = 1;
const LOG = { request: 1, response: 2 } as const;

/** Kind of a log: the name of its field. */
export type LogKind = keyof typeof LOGS;

const KINDS: ReadonlyMap<number, LogKind> = new Map(
  Object.entries(LOGS).map(([kind, field]) => [field, kind as LogKind]),
);

/** A PredictionLog whose messages are serialised. */
export interface PredictionLog {
  readonly kind: LogKind;
  readonly request: Uint8Array;
  /** Undefined if none was recorded. */
  readonly response?: Uint8Array | undefined;
}

/** Writes a PredictionLog. */
export function encodePredictionLog({ kind, request, response }: PredictionLog, metadata: LogMetadata): Buffer {
  return encodeMessage([
    messageField(METADATA, logMetadataParts(metadata)),
    messageField(LOGS[kind], [
      bytesField(LOG.request, request),
      ...(response === undefined ? [] : [bytesField(LOG.response, response)]),
    ]),
  ]);
}

/** A PredictionLog; its messages are views. */
export interface ReadPredictionLog extends PredictionLog {
  /** Arrival, in milliseconds since 1970; undefined if it is unknown. */
  readonly timeMs?: number | undefined;
}

/**
 * Reads a PredictionLog; undefined for one without a log, as other messages may look. Of a oneof that is set several
 * times the last one counts. Throws `invalid_argument` for malformed bytes.
 */
export function readPredictionLogMessage(bytes: Uint8Array): ReadPredictionLog | undefined {
  const reader = new WireReader(bytes, "PredictionLog");
  let found: PredictionLog | undefined;
  let timeMs: number | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    const kind = (tag & 7) === WIRE.bytes ? KINDS.get(tag >>> 3) : undefined;
    if (tag === bytesTag(METADATA)) timeMs = readLogMetadata(reader.nested("LogMetadata")).timeMs;
    else if (kind === undefined) reader.skip(tag);
    else found = { kind, ...readLog(reader.nested(kind)) };
  }
  return found && { ...found, timeMs };
}

function readLog(log: WireReader): Omit<PredictionLog, "kind"> {
  let request: Uint8Array = new Uint8Array(0);
  let response: Uint8Array | undefined;
  while (log.hasMore()) {
    const tag = log.tag();
    if (tag === bytesTag(LOG.request)) request = log.bytes();
    else if (tag === bytesTag(LOG.response)) response = log.bytes();
    else log.skip(tag);
  }
  return { request, response };
}
