/** The system's reasons why a file cannot be read, as texts that follow the file's name. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist, since a part of its path is not a folder",
  EACCES: "may not be read (permission denied)",
  EPERM: "may not be read (permission denied)",
  EISDIR: "is a folder",
  ELOOP: "is a link that leads back to itself",
};

/** The reason why a file could not be read, to follow its name in a message: `does not exist`. */
export function readProblem(reason: unknown): string {
  const { code = "unknown error" } = (reason ?? {}) as { code?: string };
  return PROBLEMS[code] ?? `cannot be read (${code})`;
}
