/** A destination of log lines. */
export interface LogOutput {
  /** Writes one event: a line of JSON with its line break. Never throws. */
  write(line: string): void;
}
