/** The line of pip's standard error with the error, without its full stop. */
export function pipErrorText(stderr: string): string {
  const lines = stderr.trim().split(/\r?\n/);
  const errors = lines.filter((line) => line.startsWith("ERROR:"));
  return (errors.at(-1) ?? lines.at(-1) ?? "").replace(/^ERROR: |\.$/g, "");
}
