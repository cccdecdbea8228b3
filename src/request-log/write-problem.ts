/** The system's reasons why a file cannot be written, with what to do. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full. Free space, or keep fewer files (--request-log-files).",
  EDQUOT: "the user's quota of the disk is used up. Free space, or keep fewer files (--request-log-files).",
  EACCES: "its folder may not be written (permission denied). Change that, or choose another --request-log.",
  EPERM: "its folder may not be written (not permitted). Change that, or choose another --request-log.",
  EROFS: "its disk is read-only. Choose another --request-log.",
  ENOTDIR: "a part of its path is not a folder. Choose another --request-log.",
  EEXIST: "a part of its path is not a folder. Choose another --request-log.",
  ENAMETOOLONG: "its name is too long. Choose a shorter --request-log.",
};

/** The reason why a request log cannot be written, as a sentence with its path. */
export function writeProblem(path: string, reason: unknown): string {
  const { code = "unknown error" } = (reason ?? {}) as { code?: string };
  const problem = PROBLEMS[code] ?? `of the system's error ${code}.`;
  return `${path} cannot be written: ${problem} It is tried again every 10 seconds.`;
}
