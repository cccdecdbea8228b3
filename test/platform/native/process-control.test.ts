import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MIB = 2 ** 20;
const IS_GLIBC = process.platform === "linux" && "glibcVersionRuntime" in reportHeader();

/** Allocates large blocks with small ones behind them, frees the large ones, and prints the memory that is left. */
const PROGRAM = `
  import { bindFunctions, processLibrary } from "./src/platform/native/bind-functions.ts";
  import { keepLessFree } from "./src/platform/native/process-control.ts";
  const types = { malloc: ["void *", "size_t"], free: ["void", "void *"], memset: ["void *", "void *", "int", "size_t"] };
  const { malloc, free, memset } = bindFunctions(processLibrary(), types, "The C library");
  if (process.argv[1] === "return") keepLessFree();
  const take = (bytes) => memset(malloc(bytes), 1, bytes);
  free(take(${16 * MIB}));
  const before = process.memoryUsage.rss();
  const blocks = Array.from({ length: 16 }, () => [take(${16 * MIB}), take(100_000)][0]);
  const peak = process.memoryUsage.rss();
  for (const block of blocks) free(block);
  console.log(JSON.stringify({ took: peak - before, left: process.memoryUsage.rss() - before }));
`;

test.skipIf(!IS_GLIBC)("returns the memory of large blocks that small ones lie behind", async () => {
  const run = async (mode: string) => {
    const args = ["--import", "tsx", "--input-type=module", "--eval", PROGRAM, mode];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return JSON.parse(stdout) as { took: number; left: number };
  };
  const [returned, kept] = await Promise.all([run("return"), run("keep")]);
  expect(returned.took).toBeGreaterThan(200 * MIB);
  expect(returned.left).toBeLessThan(32 * MIB);
  // What is tested for: the C library's own way.
  expect(kept.left).toBeGreaterThan(200 * MIB);
});

/** Allocates in many threads, and prints how many heaps that took: each begins at a multiple of 64 MB. */
const THREADS_PROGRAM = `
  import { once } from "node:events";
  import { readFileSync } from "node:fs";
  import { Worker } from "node:worker_threads";
  import { keepLessFree } from "./src/platform/native/process-control.ts";
  if (process.argv[1] === "return") keepLessFree();
  const program = "globalThis.kept = Buffer.allocUnsafeSlow(100_000); require('node:worker_threads').parentPort.on('message', () => {}).postMessage(0)";
  const threads = Array.from({ length: 24 }, () => new Worker(program, { eval: true, execArgv: [] }));
  await Promise.all(threads.map((thread) => once(thread, "message")));
  const starts = readFileSync("/proc/self/maps", "latin1").matchAll(/^([0-9a-f]+)-[0-9a-f]+ rw-p 00000000 00:00 0 $/gm);
  console.log(Array.from(starts).filter(([, start]) => BigInt("0x" + start) % BigInt(${64 * MIB}) === 0n).length);
  process.exit();
`;

test.skipIf(!IS_GLIBC)("has threads share heaps", async () => {
  const heaps = async (mode: string, variables: NodeJS.ProcessEnv = {}) => {
    const args = ["--import", "tsx", "--input-type=module", "--eval", THREADS_PROGRAM, mode];
    const env = { ...process.env, ...variables };
    return Number((await promisify(execFile)(process.execPath, args, { env })).stdout);
  };
  const [shared, own] = [await heaps("return"), await heaps("keep")];
  expect(shared).toBeGreaterThan(0);
  expect(shared).toBeLessThan(own);
  // What its user has chosen holds.
  expect(await heaps("return", { MALLOC_ARENA_MAX: "64" })).toBeGreaterThan(shared);
});

function reportHeader(): object {
  return (process.report.getReport() as unknown as { readonly header: object }).header;
}
