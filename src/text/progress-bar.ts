import { megabytes } from "./megabytes.ts";

const BAR_COLUMNS = 30;

/**
 * The progress of a download for a terminal: `████░░░░  50 %  1.0 MB of 2.0 MB`; the
 * bytes alone where the total is not known.
 */
export function progressBar(doneBytes: number, totalBytes: number | undefined): string {
  if (totalBytes === undefined || totalBytes === 0) return `  ${megabytes(doneBytes)}`;
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled);
  return `  ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${megabytes(doneBytes)} of ${megabytes(totalBytes)}`;
}
