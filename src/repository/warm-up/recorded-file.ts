import { invalidArgument, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { type Damage, tfRecords } from "./tf-records.ts";

/** TensorFlow Serving's maximum number of records. */
const MAX_RECORDS = 1000;

/** Runs one record, named by the title in messages; resolves with the kind of a skipped one. */
export type RunRecord = (record: Uint8Array, title: string) => Promise<string | undefined>;

/** A file of recorded requests. */
interface RecordedFile {
  readonly path: string;
  /** Its name in messages. */
  readonly what: string;
  /** True where further records are an error, as in TensorFlow Serving; else they are skipped. */
  readonly isLimited: boolean;
}

/**
 * Runs the requests of a TFRecord file, at most the first thousand, and warns about skipped ones. Throws `data_loss`
 * for a damaged file, `invalid_argument` for one with too many records where that is limited.
 */
export async function runRecordedFile(
  { path, what, isLimited }: RecordedFile,
  log: Logger,
  run: RunRecord,
): Promise<void> {
  const leftOut = new Map<string, number>();
  for await (const { bytes, number } of tfRecords(path, what, damagedIn(what))) {
    if (number > MAX_RECORDS) {
      if (isLimited) throw invalidArgument(`Number of warmup records exceeds the maximum (${MAX_RECORDS}) at ${what}.`);
      log.info(`The first ${MAX_RECORDS} requests of ${path} are run, and the others left out.`);
      break;
    }
    const kind = await run(bytes, `Record ${number} of ${what}`);
    if (kind !== undefined) leftOut.set(kind, (leftOut.get(kind) ?? 0) + 1);
  }
  if (leftOut.size === 0) return;
  const kinds = Array.from(leftOut, ([kind, count]) => `${kind} (${count})`).join(", ");
  log.warn(
    `Requests of ${path} are left out: ${kinds}; those of Predict, Classify, Regress and MultiInference are run here.`,
  );
}

/** With TensorFlow Serving's hint. */
function damagedIn(what: string) {
  return ({ number, problem }: Damage) => {
    const text = `Record ${number} of ${what} ${problem}. Please verify your warmup data is in TFRecord format.`;
    throw new ServingError("data_loss", text);
  };
}
