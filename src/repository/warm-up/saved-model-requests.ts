import { stat } from "node:fs/promises";
import { join } from "node:path";
import { invalidArgument } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { readTfRecords } from "./read-tf-records.ts";

/** Place of the requests in a SavedModel's folder. */
const FILE = "assets.extra/tf_serving_warmup_requests";
/** Records that TensorFlow Serving takes at most. */
const MAX_RECORDS = 1000;

/** Runs one record, which the title names in messages; resolves with the kind of one that is left out. */
type RunRecord = (record: Uint8Array, title: string) => Promise<string | undefined>;

/**
 * Runs the requests that a SavedModel brings along; does nothing for a model without. Throws `data_loss` for a damaged
 * file, `invalid_argument` for one of too many records.
 */
export async function runSavedModelRequests(folder: string, log: Logger, run: RunRecord): Promise<void> {
  const path = join(folder, FILE);
  if (!(await isThere(path))) return;
  const leftOut = new Map<string, number>();
  await readTfRecords(path, FILE, async (record, number) => {
    if (number > MAX_RECORDS)
      throw invalidArgument(`Number of warmup records exceeds the maximum (${MAX_RECORDS}) at ${FILE}.`);
    const kind = await run(record, `Record ${number} of ${FILE}`);
    if (kind !== undefined) leftOut.set(kind, (leftOut.get(kind) ?? 0) + 1);
  });
  if (leftOut.size === 0) return;
  const kinds = Array.from(leftOut, ([kind, count]) => `${kind} (${count})`).join(", ");
  log.warn(`Requests of ${path} are left out: ${kinds}; only those of Predict are run here.`);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== "ENOENT" && code !== "ENOTDIR",
  );
}
