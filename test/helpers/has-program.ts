import { spawnSync } from "node:child_process";

/**
 * True where a program is installed. Where it is not it prints why its tests are
 * skipped; in CI, where nothing may be skipped, it throws.
 */
export function hasProgram(program: string, debianPackage = program): boolean {
  if (spawnSync(program, ["--version"]).error === undefined) return true;
  const reason = `${program} is not tested: the package ${debianPackage} of Debian has it (see .ci/run)\n`;
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return false;
}
