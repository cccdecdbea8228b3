import {
  chmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
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
  const file = openLogFile(path, 0);
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

test("a file that has just been renamed takes lines until another is there, or a signal has come", () => {
  const path = join(tempFolder(), "kserving.log");
  const file = openLogFile(path, 60_000);
  file.write("one\n");
  renameSync(path, `${path}.1`);
  file.write("two\n");
  expect(readFileSync(`${path}.1`, "utf8")).toBe("one\ntwo\n");
  writeFileSync(path, "");
  file.write("three\n");
  expect(readFileSync(path, "utf8")).toBe("three\n");
  renameSync(path, `${path}.2`);
  file.reopen();
  file.write("four\n");
  expect([readFileSync(`${path}.2`, "utf8"), readFileSync(path, "utf8")]).toEqual(["three\n", "four\n"]);
});

test("a file that is opened again has the permissions that it had", () => {
  const path = join(tempFolder(), "kserving.log");
  const file = openLogFile(path);
  chmodSync(path, 0o600);
  renameSync(path, `${path}.1`);
  file.reopen();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("where a file cannot be opened again, lines go to the one that is open", () => {
  const folder = tempFolder();
  const path = join(folder, "logs", "kserving.log");
  mkdirSync(join(folder, "logs"));
  const file = openLogFile(path, 0);
  renameSync(join(folder, "logs"), join(folder, "old"));
  expect(() => file.reopen()).toThrow("ENOENT");
  file.write("one\n");
  expect(readFileSync(join(folder, "old", "kserving.log"), "utf8")).toBe("one\n");
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
