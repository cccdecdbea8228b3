import { spawnSync } from "node:child_process";
import { hasProgram } from "./has-program.ts";

/** True where Prometheus' promtool is installed. */
export function hasPromtool(): boolean {
  return hasProgram("promtool", "prometheus");
}

/** Problems that promtool finds in metrics; empty = none. */
export function lintMetrics(text: string): string {
  const { stdout, stderr, status } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  return status === 0 ? "" : `${stdout}${stderr}`;
}
