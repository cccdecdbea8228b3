import type { LoadTarget } from "./load/load-job.ts";
import type { Level, LevelResult } from "./measure/level.ts";
import { type Measuring, measureLevel } from "./measure/measure-level.ts";

/** Measures the levels of a sweep one after the other; those so far once the signal aborts. */
export async function runBench(
  target: LoadTarget,
  levels: readonly Level[],
  measuring: Measuring,
): Promise<readonly LevelResult[]> {
  const results: LevelResult[] = [];
  for (const level of levels) {
    if (measuring.signal.aborted) break;
    const result = await measureLevel(target, level, measuring);
    if (result.windows.length > 0) results.push(result);
  }
  return results;
}
