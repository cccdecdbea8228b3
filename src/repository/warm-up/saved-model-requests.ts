import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../observability/logger.ts";
import { type RunRecord, runRecordedFile } from "./recorded-file.ts";

/** Path of the warm-up requests in a SavedModel's folder. */
const FILE = "assets.extra/tf_serving_warmup_requests";

/**
 * Runs the warm-up requests in a SavedModel; does nothing for a model without any. Throws as {@link runRecordedFile}.
 */
export async function runSavedModelRequests(folder: string, log: Logger, run: RunRecord): Promise<void> {
  const path = join(folder, FILE);
  if (await isThere(path)) await runRecordedFile({ path, what: FILE, isStrict: true }, log, run);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== "ENOENT" && code !== "ENOTDIR",
  );
}
