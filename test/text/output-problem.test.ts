import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { outputProblem } from "../../src/text/output-problem.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

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
