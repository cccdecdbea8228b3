import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";

const MODEL = "test/fixtures/models/half-plus-two.onnx";
const MB = 1e6;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Bytes that live JavaScript objects have, and that are mapped at all: threads that
 * were not wholly freed leave their stacks there.
 */
function usage() {
  collect();
  const [, mapped = "0"] = /^VmSize:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return { heap: process.memoryUsage().heapUsed, mapped: Number(mapped) * 1024 };
}

test.runIf(process.platform === "linux")(
  "a model that is loaded and unloaded again and again leaves nothing",
  async () => {
    const server = await startServer({ models: { half: { path: MODEL } } });
    const cycle = async (times: number) => {
      for (let time = 0; time < times; time++) {
        await server.unload("half");
        await server.load("half");
      }
      return usage();
    };
    const before = await cycle(100);
    const after = await cycle(300);
    expect(after.heap - before.heap).toBeLessThan(3 * MB);
    expect(after.mapped - before.mapped).toBeLessThan(1000 * MB);
  },
);
