import { invalidArgument, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { UnusedLog } from "../../serving/recorded-request.ts";
import { type Damage, tfRecords } from "./tf-records.ts";

/** TensorFlow Serving's maximum number of records. */
const MAX_RECORDS = 1000;

/** Runs one record, named by the title in messages; resolves with the kind of one that cannot be run. */
export type RunRecord = (record: Uint8Array, title: string) => Promise<UnusedLog | undefined>;

/** A file of recorded requests. */
interface RecordedFile {
  readonly path: string;
  /** Its name in messages. */
  readonly what: string;
  /**
   * True where further records, and those that cannot be run, are errors, as in
   * TensorFlow Serving; else they are skipped.
   */
  readonly isStrict: boolean;
}

/**
 * Runs the requests of a TFRecord file, at most the first thousand, and warns about skipped ones. Throws `data_loss`
 * for a damaged file; of a strict one also `invalid_argument` for too many records, `unimplemented` for other kinds.
 */
export async function runRecordedFile(
  { path, what, isStrict }: RecordedFile,
  log: Logger,
  run: RunRecord,
): Promise<void> {
  const leftOut = new Map<string, number>();
  for await (const { bytes, number } of tfRecords(path, what, damagedIn(what))) {
    if (number > MAX_RECORDS) {
      if (isStrict) throw invalidArgument(`Number of warmup records exceeds the maximum (${MAX_RECORDS}) at ${what}.`);
      log.info(`The first ${MAX_RECORDS} requests of ${path} are run, and the others left out.`);
      break;
    }
    const title = `Record ${number} of ${what}`;
    const unused = await run(bytes, title);
    if (unused === undefined) continue;
    if (isStrict) throw unsupported(unused, title);
    leftOut.set(unused.kind, (leftOut.get(unused.kind) ?? 0) + 1);
  }
  if (leftOut.size === 0) return;
  const kinds = Array.from(leftOut, ([kind, count]) => `${kind} (${count})`).join(", ");
  log.warn(
    `Requests of ${path} are left out: ${kinds}; those of Predict, Classify, Regress and MultiInference are run here.`,
  );
}

/** With TensorFlow Serving's text. */
function unsupported({ kind, field }: UnusedLog, title: string): ServingError {
  return new ServingError("unimplemented", `Unsupported log_type for warmup: ${field}. ${title} is a ${kind}.`);
}

/** With TensorFlow Serving's hint. */
function damagedIn(what: string) {
  return ({ number, problem }: Damage) => {
    const text = `Record ${number} of ${what} ${problem}. Please verify your warmup data is in TFRecord format.`;
    throw new ServingError("data_loss", text);
  };
}
