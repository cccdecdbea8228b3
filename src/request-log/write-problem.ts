/** Reasons of the system why a file cannot be written, with what to do. */
const PROBLEMS: Readonly<Record<string, (setting: string) => string>> = {
  ENOSPC: (setting) => `the disk is full. Free space${fewerFiles(setting)}.`,
  EDQUOT: (setting) => `the user's quota of the disk is used up. Free space${fewerFiles(setting)}.`,
  EACCES: (setting) => `its folder may not be written (permission denied). Change that, or choose another ${setting}.`,
  EPERM: (setting) => `its folder may not be written (not permitted). Change that, or choose another ${setting}.`,
  EROFS: (setting) => `its disk is read-only. Choose another ${setting}.`,
  ENOTDIR: (setting) => `a part of its path is not a folder. Choose another ${setting}.`,
  EEXIST: (setting) => `a part of its path is not a folder. Choose another ${setting}.`,
  ENAMETOOLONG: (setting) => `its name is too long. Choose a shorter ${setting}.`,
};
const REQUEST_LOG = "--request-log";

/** The reason why a request log cannot be written, as a sentence with its path. */
export function writeProblem(path: string, reason: unknown): string {
  return `${systemProblem(path, reason, REQUEST_LOG)} It is tried again every 10 seconds.`;
}

/** The reason why a file of a setting cannot be written, as a sentence with its path. */
export function systemProblem(path: string, reason: unknown, setting: string): string {
  const { code = "unknown error" } = (reason ?? {}) as { code?: string };
  const problem = PROBLEMS[code]?.(setting) ?? `of the system's error ${code}.`;
  return `${path} cannot be written: ${problem}`;
}

function fewerFiles(setting: string): string {
  return setting === REQUEST_LOG ? ", or keep fewer files (--request-log-files)" : "";
}
