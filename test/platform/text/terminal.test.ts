import { expect, test } from "vitest";
import { printable } from "../../../src/platform/text/terminal.ts";

test("commands to a terminal become visible, tabs and line breaks stay", () => {
  expect(printable("a\u001b[2Jb\r\u009bc\u202ed\te\nf")).toBe("a\\u001b[2Jb\\u000d\\u009bc\\u202ed\te\nf");
});

test("any other text stays as it is", () => {
  expect(printable("é 漢字 \u{1f600} \\u001b")).toBe("é 漢字 \u{1f600} \\u001b");
});
