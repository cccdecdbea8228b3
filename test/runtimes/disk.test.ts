import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { checkSpace, toDiskError } from "../../src/runtimes/disk.ts";

test("refuses what the disk has no room for, with both figures", async () => {
  await expect(checkSpace(tmpdir(), 1e18)).rejects.toThrow(/is full: 1000000000000 MB are needed, [\d.]+ MB are free/);
  await expect(checkSpace(tmpdir(), 1)).resolves.toBeUndefined();
});

test.runIf(existsSync("/dev/full"))("a write that finds the disk full says what to do", () => {
  const failure = (() => {
    try {
      writeFileSync("/dev/full", "x");
    } catch (reason) {
      return toDiskError(reason, "/runtimes");
    }
  })();
  expect(failure).toBeInstanceOf(ServingError);
  expect(failure).toMatchObject({ code: "resource_exhausted", message: expect.stringContaining("Make room") });
});

test("leaves other errors alone", () => {
  const other = new Error("other");
  expect(toDiskError(other, "/runtimes")).toBe(other);
  expect(toDiskError(undefined, "/runtimes")).toBeUndefined();
});
