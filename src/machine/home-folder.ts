import { homedir, tmpdir } from "node:os";

/**
 * The user's folder. That for temporary files where the user has none: containers run under ids that no file knows,
 * with the root folder, which they cannot write, as their home.
 */
export function homeFolder(): string {
  try {
    const home = homedir();
    return home === "/" ? tmpdir() : home;
  } catch {
    return tmpdir();
  }
}
