import { openSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLogFile } from "../../src/observability/log-file.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("lines are appended, and are in the file when write returns", () => {
  const path = join(tempFolder({ "kserving.log": "old\n" }), "kserving.log");
  openLogFile(path).write("é\n");
  expect(readFileSync(path, "utf8")).toBe("old\né\n");
});

test("a file that log rotation renames, deletes or empties is written again under its name", () => {
  const path = join(tempFolder(), "kserving.log");
  const file = openLogFile(path);
  file.write("one\n");
  renameSync(path, `${path}.1`);
  file.write("two\n");
  expect([readFileSync(`${path}.1`, "utf8"), readFileSync(path, "utf8")]).toEqual(["one\n", "two\n"]);
  rmSync(path);
  file.write("three\n");
  expect(readFileSync(path, "utf8")).toBe("three\n");
  truncateSync(path);
  file.write("four\n");
  expect(readFileSync(path, "utf8")).toBe("four\n");
});

test("a file knows whether a descriptor leads to it", () => {
  const path = join(tempFolder(), "kserving.log");
  const file = openLogFile(path);
  expect(file.isSameAs(openSync(path, "r"))).toBe(true);
  expect(file.isSameAs(openSync("/dev/null", "r"))).toBe(false);
});

test("a file that cannot be opened is refused with its path", () => {
  const path = join(tempFolder(), "no-such-folder", "kserving.log");
  expect(() => openLogFile(path)).toThrow(
    expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^The log file .*kserving\.log cannot be written: ENOENT.* Choose another with --log-path\.$/,
      ),
    }),
  );
});
