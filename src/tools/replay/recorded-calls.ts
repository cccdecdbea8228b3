import { methodPath } from "../../client/remote/infer-message.ts";
import { failedPrecondition } from "../../errors.ts";
import { PREDICT_PATH } from "../../protocols/tensorflow-serving/grpc-service.ts";
import {
  type LogKind,
  type ReadPredictionLog,
  readPredictionLogMessage,
} from "../../protocols/tensorflow-serving/prediction-log-message.ts";
import { withRegularFile } from "../../storage/open-regular-file.ts";
import { type Damage, isTfRecordFile, tfRecords } from "../../storage/tf-records.ts";

const SERVICE = PREDICT_PATH.slice(0, PREDICT_PATH.lastIndexOf("/"));
/** Methods by the logs of their requests; a log that is not here cannot be sent again. */
const PATHS: Readonly<Partial<Record<LogKind, string>>> = {
  predict_log: PREDICT_PATH,
  classify_log: `${SERVICE}/Classify`,
  regress_log: `${SERVICE}/Regress`,
  multi_inference_log: `${SERVICE}/MultiInference`,
  session_run_log: "/tensorflow.serving.SessionService/SessionRun",
  // TensorFlow Serving has no method for them that can be called.
  predict_streamed_log: methodPath("ModelStreamInfer"),
};

/** A recorded request with the method that it is for. */
export interface RecordedCall extends ReadPredictionLog {
  readonly path: string;
  /** `record 3 of FILE`. */
  readonly place: string;
}

/** Reports of what cannot be sent. */
interface ReadingNotes {
  /** A damaged record or file, as a sentence. */
  onDamage(text: string): void;
  /** The kind of a skipped record. */
  onLeftOut(kind: string): void;
}

/**
 * Reads the requests of a file of PredictionLogs. Throws `failed_precondition` for a
 * file that cannot be read, or holds something else.
 */
export async function* recordedCalls(path: string, notes: ReadingNotes): AsyncGenerator<RecordedCall> {
  await assertRequestLog(path);
  const onDamage = ({ number, offset, problem }: Damage) =>
    notes.onDamage(`${path}: record ${number}, at byte ${offset}, ${problem}.`);
  for await (const { bytes, number } of tfRecords(path, path, onDamage)) {
    const place = `record ${number} of ${path}`;
    const log = readLog(bytes, place);
    const method = log && PATHS[log.kind];
    if (log === undefined || method === undefined) notes.onLeftOut(log?.kind ?? "without a request");
    else yield { ...log, path: method, place };
  }
}

/** Throws `failed_precondition` for a file that cannot be read, or does not begin as a request log does. */
export async function assertRequestLog(path: string): Promise<void> {
  if (!(await isTfRecordFile(path, path))) throw failedPrecondition(await foreignFile(path));
}

function readLog(bytes: Uint8Array, place: string): ReadPredictionLog | undefined {
  try {
    return readPredictionLogMessage(bytes);
  } catch (cause) {
    throw failedPrecondition(
      `${place} is not a tensorflow.serving.PredictionLog. Expected a request log of kserving, or warm-up requests of TensorFlow Serving; a file of tf.Examples for training has no requests in it.`,
      cause,
    );
  }
}

/** First bytes of files that people take for request logs, in hexadecimal, with what to do. */
const KINDS: readonly (readonly [string, string])[] = [
  ["1f8b", "is compressed by gzip. Unpack it first, with gunzip."],
  ["28b52ffd", "is compressed by zstd. Unpack it first, with zstd -d."],
  ["504b0304", "is a zip archive. Unpack it first."],
  ["894844460d0a1a0a", "is an HDF5 file, as Keras writes models. Serve it with --model-path."],
];

/** The reason why a file does not have recorded requests, and the remedy, derived from its first bytes. */
function foreignFile(path: string): Promise<string> {
  return withRegularFile(path, path, async ({ file, size }) => {
    if (size === 0) return `${path} is empty. A request log has its first records a moment after the first requests.`;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    const head = buffer.subarray(0, bytesRead);
    const known = KINDS.find(([start]) => head.toString("hex").startsWith(start));
    if (known !== undefined) return `${path} ${known[1]}`;
    if (/^\s*[[{]/.test(head.toString("latin1")))
      return `${path} is JSON. Send such a request with curl, or warm a model up with it (--warmup FILE); replay takes the TFRecord files of --request-log.`;
    return `${path} is not a TFRecord file. Expected a request log (--request-log), or warm-up requests of TensorFlow Serving.`;
  });
}
