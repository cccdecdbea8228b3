import type { Level } from "../../tools/benchmark/measure/level.ts";
import type { Window } from "../../tools/benchmark/measure/window.ts";
import { levelText, msText, rateText } from "../../tools/benchmark/report.ts";

/** The state of a measurement: `concurrency 8: 812 requests/s, p50 9.80 ms, p99 12.1 ms (window 2)`. */
export function progressText(level: Level, windows: readonly Window[]): string {
  const name = level.rate === undefined ? `concurrency ${level.concurrency}` : levelText(level);
  const window = windows.at(-1);
  if (window === undefined) return `${name}: warming up`;
  const sorted = [0.5, 0.99].map((share) => msText(window.percentileMs(share)));
  const rate = rateText(window.requestsPerSecond);
  return `${name}: ${rate} requests/s, p50 ${sorted[0]} ms, p99 ${sorted[1]} ms (window ${windows.length})`;
}
