import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Megabytes of this thread's memory that are in use once what is not has been collected. */
export function usedMb(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}
