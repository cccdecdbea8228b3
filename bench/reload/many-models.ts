import { createServer } from "../../src/server/server.ts";
import { tableLines } from "../../test/helpers/table.ts";
import { makeDenseNet } from "../models.ts";
import { threadCount } from "./cycles.ts";
import { HALF } from "./version-folder.ts";

const COUNT = 500;

/**
 * Prints the time to start with so many models, and the memory and threads that each of them takes while no request
 * comes, loaded and unloaded.
 */
export async function measureManyModels(): Promise<void> {
  const rows = [[`${COUNT} models of`, "start in s", "MB a model", "threads a model", "MB a model, unloaded"]];
  for (const [what, path] of [
    ["150 bytes", HALF],
    ["100 KB", makeDenseNet("dense-100kb", [64, 200, 64])],
  ] as const)
    rows.push([what, ...(await measure(path))]);
  for (const line of tableLines(rows)) console.log(line);
}

/** Beside another server, whose runtime and threads the models do not count for. */
async function measure(path: string): Promise<string[]> {
  const first = await createServer({ models: { a: { path }, b: { path }, c: { path } }, http: {} });
  const before = used();
  const started = performance.now();
  const names = Array.from({ length: COUNT }, (_, index) => `m${index}`);
  const server = await createServer({ models: Object.fromEntries(names.map((name) => [name, { path }])), http: {} });
  const seconds = (performance.now() - started) / 1000;
  const loaded = used();
  await Promise.all(names.map((name) => server.unload(name)));
  const unloaded = used();
  await server.close();
  await first.close();
  const each = (after: number, from: number) => ((after - from) / COUNT).toFixed(2);
  return [
    seconds.toFixed(1),
    each(loaded.mb, before.mb),
    each(loaded.threads, before.threads),
    each(unloaded.mb, before.mb),
  ];
}

function used() {
  globalThis.gc?.();
  return { mb: process.memoryUsage().rss / 1e6, threads: threadCount() };
}
