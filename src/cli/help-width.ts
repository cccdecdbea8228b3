/** Width of help in characters: the terminal's, or 110 where standard output is not a terminal. */
export function helpWidth(): number {
  return process.stdout.columns ?? 110;
}
