/** Width of help in characters: the terminal's, or 110 if standard output is not a terminal. */
export function helpWidth(): number {
  return process.stdout.columns ?? 110;
}
