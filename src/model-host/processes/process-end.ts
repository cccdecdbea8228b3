/** The reason why a process has ended, in words that can follow "the process". */
export function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGKILL") return "was killed (SIGKILL), by hand or for want of memory";
  if (signal !== null) return `crashed (${signal})`;
  return `ended with exit code ${code}`;
}
