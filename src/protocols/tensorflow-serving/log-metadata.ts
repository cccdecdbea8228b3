import { bytesTag, tagOf, WIRE, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { doubleField, integerField, messageField, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { type ModelSpec, modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "./model-spec.ts";

/**
 * Field numbers of tensorflow.serving.LogMetadata and SamplingConfig. The last one is ours: the original counts
 * seconds, which is too coarse to send requests again as they came. Others pass over it.
 */
const METADATA = { modelSpec: 1, samplingConfig: 2, timestampSecs: 4, timestampMicros: 10001 } as const;
const SAMPLING_RATE = 1;

/** Facts about a request that is recorded. */
export interface LogMetadata {
  /** The model, version and signature that answered. */
  readonly spec: ModelSpec;
  /** The part of the requests that is recorded. */
  readonly rate: number;
  /** Arrival, in milliseconds since 1970 with decimals; undefined if it is unknown. */
  readonly timeMs?: number | undefined;
}

/** The fields of a LogMetadata. */
export function logMetadataParts({ spec, rate, timeMs = 0 }: LogMetadata): WirePart[] {
  return [
    messageField(METADATA.modelSpec, modelSpecParts(spec)),
    messageField(METADATA.samplingConfig, [doubleField(SAMPLING_RATE, rate)]),
    integerField(METADATA.timestampSecs, Math.floor(timeMs / 1000)),
    integerField(METADATA.timestampMicros, Math.round(timeMs * 1000)),
  ];
}

/** Reads the model and the time from a LogMetadata. */
export function readLogMetadata(reader: WireReader): Pick<LogMetadata, "spec" | "timeMs"> {
  let spec = NO_MODEL_SPEC;
  let seconds = 0;
  let micros = 0;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(METADATA.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === tagOf(METADATA.timestampSecs, WIRE.varint)) seconds = reader.integer();
    else if (tag === tagOf(METADATA.timestampMicros, WIRE.varint)) micros = reader.integer();
    else reader.skip(tag);
  }
  const timeMs = micros > 0 ? micros / 1000 : seconds * 1000;
  return timeMs > 0 ? { spec, timeMs } : { spec };
}
