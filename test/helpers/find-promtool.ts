import { spawnSync } from "node:child_process";

/** True where Prometheus' promtool is installed. Where it is not it prints why its tests are skipped; in CI, where nothing may be skipped, it throws. */
export function hasPromtool(): boolean {
  if (spawnSync("promtool", ["--version"]).error === undefined) return true;
  const reason = "promtool is not tested: the package prometheus of Debian has it (see .ci/run)\n";
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return false;
}

/** Problems that promtool finds in metrics; empty = none. */
export function lintMetrics(text: string): string {
  const { stdout, stderr, status } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  return status === 0 ? "" : `${stdout}${stderr}`;
}
