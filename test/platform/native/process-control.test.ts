import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MIB = 2 ** 20;
const IS_GLIBC = process.platform === "linux" && "glibcVersionRuntime" in reportHeader();

/** Allocates large blocks with small ones behind them, frees the large ones, and prints the memory that is left. */
const PROGRAM = `
  import { bindFunctions, processLibrary } from "./src/platform/native/bind-functions.ts";
  import { returnLargeBlocks } from "./src/platform/native/process-control.ts";
  const types = { malloc: ["void *", "size_t"], free: ["void", "void *"], memset: ["void *", "void *", "int", "size_t"] };
  const { malloc, free, memset } = bindFunctions(processLibrary(), types, "The C library");
  if (process.argv[1] === "return") returnLargeBlocks();
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

function reportHeader(): object {
  return (process.report.getReport() as unknown as { readonly header: object }).header;
}
