import { defineJob } from "../../platform/codec-host/job.ts";
import { bytesTag, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";

/** The only field of ml_serving.PredictJSONData. */
const JSON_STRING = 1;

/** The JSON text of a PredictJSONData: a view of the message, not parsed and not checked; empty if there is none. */
export function decodePredictJson(bytes: Uint8Array): Uint8Array {
  const reader = new WireReader(bytes, "PredictJSONData");
  let json: Uint8Array = new Uint8Array(0);
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(JSON_STRING)) json = reader.bytes();
    else reader.skip(tag);
  }
  return json;
}

/** A PredictJSONData with this JSON text. */
export function encodePredictJson(json: Uint8Array): Buffer {
  return encodeMessage(predictJsonParts(json));
}

/** {@link encodePredictJson} for a codec thread. */
export const encodePredictJsonJob = defineJob(import.meta.url, "encodePredictJsonJob", encodePredictJson);

/** Its fields. */
export function predictJsonParts(json: Uint8Array): WirePart[] {
  return [bytesField(JSON_STRING, json)];
}
