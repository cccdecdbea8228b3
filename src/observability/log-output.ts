import { reasonText } from "../errors.ts";

/** A destination of log lines. */
export interface LogOutput {
  /** Writes one event: a line of JSON with its line break. Never throws. */
  write(line: string): void;
}

let isWatching = false;

/**
 * Keeps the process alive if its standard output or standard error is closed, or their disk is full: without a
 * listener the first line that is lost would end it. The loss of standard output is reported once, on standard error.
 */
export function surviveOutputErrors(): void {
  if (isWatching) return;
  isWatching = true;
  process.stderr.on("error", () => {});
  process.stdout.once("error", (reason) => reportLogLoss("to standard output", reason));
  process.stdout.on("error", () => {});
}

/** Reports on standard error that the log is being lost. */
export function reportLogLoss(whereTo: string, reason: unknown): void {
  process.stderr.write(
    `kserving: the log cannot be written ${whereTo} any more: ${reasonText(reason)}; the server goes on without it.\n`,
  );
}
