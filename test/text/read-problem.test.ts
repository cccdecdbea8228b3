import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readProblem } from "../../src/text/read-problem.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test.each([
  ["gone.ts", "does not exist"],
  ["a.ts/b.ts", "does not exist, since a part of its path is not a folder"],
  ["folder", "is a folder"],
  ["x".repeat(300), "cannot be read (ENAMETOOLONG)"],
])("%s %s", (name, problem) => {
  const folder = tempFolder({ "a.ts": "", "folder/b.ts": "" });
  let reason: unknown;
  try {
    readFileSync(join(folder, name));
  } catch (thrown) {
    reason = thrown;
  }
  expect(readProblem(reason)).toBe(problem);
});

test("an error without a code has a reason too", () => {
  expect(readProblem(undefined)).toBe("cannot be read (unknown error)");
});
