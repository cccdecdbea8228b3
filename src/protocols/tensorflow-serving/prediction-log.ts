import { codecs } from "../../codec-host/codecs.ts";
import { WIRE, WireReader } from "../../codecs/protobuf/wire-reader.ts";
import type { RecordedFor, RecordedRequest } from "../../serving/recorded-request.ts";
import { decodePredictRequestJob, decodePredictRequestQuickly } from "./grpc-codec.ts";
import { checkSignature } from "./grpc-signature.ts";

/** Logs of tensorflow.serving.PredictionLog by field number; each has its request as field 1. */
const LOGS: ReadonlyMap<number, string> = new Map([
  [2, "classify_log"],
  [3, "regress_log"],
  [4, "multi_inference_log"],
  [5, "session_run_log"],
  [6, "predict_log"],
  [7, "predict_streamed_log"],
]);
const REQUEST_TAG = (1 << 3) | WIRE.bytes;

/**
 * Reads a PredictionLog as Predict reads its request, with the same checks and texts. Returns the name of a log of
 * another API, undefined for an empty log.
 */
export async function readPredictionLog(
  bytes: Uint8Array,
  { signatures, signal, model }: RecordedFor,
  maxBytes: number,
): Promise<RecordedRequest | string | undefined> {
  const log = findLog(bytes);
  if (log?.kind !== "predict_log") return log?.kind;
  const { request: message } = log;
  const request =
    decodePredictRequestQuickly(message, maxBytes) ??
    (await codecs.run(decodePredictRequestJob, [message, maxBytes], { signal }));
  const { inputs, outputFilter } = request;
  const signature = checkSignature(request, { model, version: 0n, drivers: [], signatures });
  return { signature, inputs, ...(outputFilter.length > 0 && { outputs: outputFilter }) };
}

/** Of a oneof that is set several times the last one counts. */
function findLog(bytes: Uint8Array): { readonly kind: string; readonly request: Uint8Array } | undefined {
  const reader = new WireReader(bytes, "PredictionLog");
  let found: { kind: string; request: Uint8Array } | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    const kind = (tag & 7) === WIRE.bytes ? LOGS.get(tag >>> 3) : undefined;
    if (kind === undefined) reader.skip(tag);
    else found = { kind, request: requestOf(reader.nested(kind)) };
  }
  return found;
}

function requestOf(log: WireReader): Uint8Array {
  let request: Uint8Array = new Uint8Array(0);
  while (log.hasMore()) {
    const tag = log.tag();
    if (tag === REQUEST_TAG) request = log.bytes();
    else log.skip(tag);
  }
  return request;
}
