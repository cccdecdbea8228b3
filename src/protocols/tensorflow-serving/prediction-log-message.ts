import { varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import { bytesTag, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { type LogMetadata, logMetadataParts, readLogMetadata } from "./log-metadata.ts";

/**
 * Logs of tensorflow.serving.PredictionLog by name: field number. Each has its request
 * as field 1, its response as field 2, and that of an answer in parts all parts there.
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
/** The last one is ours: the original knows no times of parts, and passes over it. */
const LOG = { request: 1, response: 2, partMicros: 10001 } as const;

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
  /** Of a `predict_streamed_log`, in place of a response. */
  readonly parts?: readonly RecordedPart[] | undefined;
}

/** A part of a recorded answer. */
interface RecordedPart {
  readonly response: Uint8Array;
  /** Milliseconds from the arrival of the request, with decimals; 0 = they are unknown. */
  readonly afterMs: number;
}

/** Writes a PredictionLog. */
export function encodePredictionLog(
  { kind, request, response, parts = [] }: PredictionLog,
  metadata: LogMetadata,
): Buffer {
  return encodeMessage([
    messageField(METADATA, logMetadataParts(metadata)),
    messageField(LOGS[kind], [
      bytesField(LOG.request, request),
      ...(response === undefined ? [] : [bytesField(LOG.response, response)]),
      ...parts.map((part) => bytesField(LOG.response, part.response)),
      ...(parts.length === 0 ? [] : [varintsField(LOG.partMicros, BigInt64Array.from(parts, toMicros))]),
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
    else found = { kind, ...readLog(reader.nested(kind), kind) };
  }
  return found && { ...found, timeMs };
}

function readLog(log: WireReader, kind: LogKind): Omit<PredictionLog, "kind"> {
  let request: Uint8Array = new Uint8Array(0);
  const responses: Uint8Array[] = [];
  const micros: number[] = [];
  while (log.hasMore()) {
    const tag = log.tag();
    if (tag === bytesTag(LOG.request)) request = log.bytes();
    else if (tag === bytesTag(LOG.response)) responses.push(log.bytes());
    else if (tag === bytesTag(LOG.partMicros)) {
      const times = log.nested("times of parts");
      while (times.hasMore()) micros.push(times.integer());
    } else log.skip(tag);
  }
  if (kind !== "predict_streamed_log") return { request, response: responses.at(-1) };
  const parts = responses.map((response, index) => ({ response, afterMs: (micros[index] ?? 0) / 1000 }));
  return { request, parts };
}

function toMicros({ afterMs }: RecordedPart): bigint {
  return BigInt(Math.round(afterMs * 1000));
}
