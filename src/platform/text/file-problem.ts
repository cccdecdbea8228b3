/** The system's reasons why a file cannot be read, as texts that follow the file's name. */
const READ_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist, since a part of its path is not a folder",
  EACCES: "may not be read (permission denied)",
  EPERM: "may not be read (permission denied)",
  EISDIR: "is a folder",
  ELOOP: "is a link that leads back to itself",
};

/** The reason why a file could not be read, to follow its name in a message: `does not exist`. */
export function readProblem(reason: unknown): string {
  const code = codeOf(reason);
  return READ_PROBLEMS[code] ?? `cannot be read (${code})`;
}

/** The system's reasons why a file or folder cannot be written, as texts that follow its name. */
const OUTPUT_PROBLEMS: Readonly<Record<string, string>> = {
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
  const code = codeOf(reason);
  return OUTPUT_PROBLEMS[code] ?? `cannot be written (${code})`;
}

/** The system's name of an error. */
function codeOf(reason: unknown): string {
  const { code = "unknown error" } = (reason ?? {}) as { code?: string };
  return code;
}
