import { readdirSync } from "node:fs";
import { createServer } from "../../src/server/server.ts";
import { tableLines } from "../../test/helpers/table.ts";
import { HALF } from "./version-folder.ts";

/** Prints memory and threads while one model is loaded and unloaded, `--cycles` times. */
export async function measureCycles(args: readonly string[]): Promise<void> {
  const at = args.indexOf("--cycles");
  const cycles = at < 0 ? 1000 : Number(args[at + 1]);
  const server = await createServer({ models: { half: { path: HALF } }, http: {} });
  const rows = [["cycles", "RSS in MB", "threads", "ms a cycle"]];
  const started = performance.now();
  for (let cycle = 1; cycle <= cycles; cycle++) {
    await server.unload("half");
    await server.load("half");
    if (cycle % Math.ceil(cycles / 10) !== 0) continue;
    const rss = Math.round(process.memoryUsage().rss / 1e6);
    const msPerCycle = Math.round((performance.now() - started) / cycle);
    rows.push([cycle, rss, threadCount(), msPerCycle].map(String));
  }
  await server.close();
  for (const line of tableLines(rows)) console.log(line);
}

/** Threads of this process. */
export function threadCount(): number {
  return readdirSync("/proc/self/task").length;
}
