import { join } from "node:path";
import { expect, test } from "vitest";
import { toExcerpt } from "../../src/observability/user-frame.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const FILES = {
  "hooks.ts": 'first\n\tthrow new Error("no");\n\n\u001b[2J\n',
  "long.js": `${"a".repeat(500)}HERE${"b".repeat(500)}`,
  "secret.txt": "secret",
};

/** The excerpt of one of the files; its folder is left out. */
function excerpt(name: string, line: number, column: number): string[] {
  const folder = tempFolder(FILES);
  return toExcerpt({ file: join(folder, name), line, column }).map((text) => text.replace(folder, ""));
}

test("the place comes first, then the line with a mark under the column", () => {
  expect(excerpt("hooks.ts", 2, 8)).toEqual(["at /hooks.ts:2:8", '2 |  throw new Error("no");', "  |        ^"]);
});

test("a file in the current folder is named by its relative path", () => {
  expect(toExcerpt({ file: join(process.cwd(), "package.json"), line: 1, column: 1 })).toEqual(["at package.json:1:1"]);
});

test("of a long line the part around the column is shown", () => {
  const [, code = "", mark = ""] = excerpt("long.js", 1, 501);
  expect(code.length).toBeLessThan(120);
  expect(code.slice(mark.indexOf("^"), mark.indexOf("^") + 4)).toBe("HERE");
});

test.each([
  ["a line that is not there", "hooks.ts", 99],
  ["an empty line", "hooks.ts", 3],
  ["a file that is not there", "gone.ts", 1],
  ["a file that is not source code", "secret.txt", 1],
])("%s leaves the place alone", (_, name, line) => {
  expect(excerpt(name, line, 1)).toEqual([`at /${name}:${line}:1`]);
});

test("what a terminal would take as a command is shown as text", () => {
  expect(excerpt("hooks.ts", 4, 1)[1]).toBe("4 | \\u001b[2J");
});
