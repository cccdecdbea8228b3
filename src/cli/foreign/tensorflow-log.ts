/**
 * Writes a line to standard error as TensorFlow's log has it: the time with
 * microseconds, the level (I, W, E), the place.
 */
export function tensorflowLog(level: "I" | "W" | "E", text: string): void {
  process.stderr.write(`${logTime(new Date())}000: ${level} kserving] ${text}\n`);
}

/** A time of this machine's clock, `2026-08-21 16:33:54.123`. */
export function logTime(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, -1).replace("T", " ");
}
