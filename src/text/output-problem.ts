/** The system's reasons why a file or folder cannot be written, as texts that follow its name. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "is in a folder that does not exist",
  ENOTDIR: "cannot be there, since a part of its path is not a folder",
  EACCES: "may not be written (permission denied)",
  EPERM: "may not be written (permission denied)",
  EROFS: "is on a disk that is read-only",
  ENOSPC: "does not fit: the disk is full",
  EISDIR: "is a folder",
  ELOOP: "is a link that leads back to itself",
};

/** The reason why a file could not be written, to follow its name in a message: `is on a disk that is read-only`. */
export function outputProblem(reason: unknown): string {
  const { code = "unknown error" } = (reason ?? {}) as { code?: string };
  return PROBLEMS[code] ?? `cannot be written (${code})`;
}
