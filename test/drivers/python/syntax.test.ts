import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";

const python = findPython("The syntax of the host of Python models", ["ast"]);

/** Parses each file as the oldest Python would that the host is made for, and prints those that it would refuse. */
const PARSE_ALL = `
import ast, pathlib
for path in sorted(pathlib.Path("python").rglob("*.py")):
    try:
        ast.parse(path.read_text(encoding="utf8"), feature_version=(3, 8))
    except SyntaxError as error:
        print(path, error)
    else:
        print("fine", path.name)`;

it.skipIf(python === undefined)("the host of Python models is written in the syntax of Python 3.8", () => {
  const lines = execFileSync(python as string, ["-c", PARSE_ALL])
    .toString()
    .trim()
    .split("\n");
  expect(lines).toContain("fine pytorch.py");
  expect(lines.filter((line) => !line.startsWith("fine "))).toEqual([]);
});
