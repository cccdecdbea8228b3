import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { outputProblem, readProblem } from "../../../src/platform/text/file-problem.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

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

test.each([
  ["nowhere/file", "is in a folder that does not exist"],
  ["file/file", "cannot be there, since a part of its path is not a folder"],
  ["", "is a folder"],
])("the reason why %j cannot be written", (path, text) => {
  const folder = tempFolder({ file: "" });
  try {
    writeFileSync(join(folder, path), "");
    expect.unreachable();
  } catch (reason) {
    expect(outputProblem(reason)).toBe(text);
  }
});

test("a reason that is not known has the system's word", () => {
  expect(outputProblem({ code: "EDQUOT" })).toBe("cannot be written (EDQUOT)");
});
