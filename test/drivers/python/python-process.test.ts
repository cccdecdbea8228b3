import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { PythonProcess } from "../../../src/drivers/python/python-process.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";

test.skipIf(process.platform !== "linux")("a process that cannot be started leaves no open files", async () => {
  const options = { python: "no\0python", threads: 1, timeoutMs: 0, log: createSilentLogger() };
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  await expect(PythonProcess.start(options)).rejects.toThrow();
  expect(open()).toBe(before);
});
