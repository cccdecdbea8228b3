import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBasePython } from "../../../src/storage/runtimes/python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** An interpreter that answers whatever it is asked with one line. */
function pythonThatSays(line: string): string {
  const path = join(tempFolder({ python: `#!/bin/sh\necho '${line}'\n` }), "python");
  chmodSync(path, 0o755);
  return path;
}

test("the first interpreter that can make environments is taken", async () => {
  const commands = [
    "no-such-python",
    pythonThatSays('["/a/python", "3.9", false]'),
    pythonThatSays('["/b/python", "3.12", true]'),
  ];
  expect(await findBasePython(commands)).toEqual({ path: "/b/python", version: "3.12" });
});

test("interpreters without venv, as Debian has them, are named with the package to install", async () => {
  const python = pythonThatSays('["/usr/bin/python3", "3.11", false]');
  await expect(findBasePython([python, python])).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(
      /^\/usr\/bin\/python3 \(Python 3\.11\) cannot make a Python environment, .*apt-get install python3-venv/,
    ),
  });
  await expect(findBasePython([])).rejects.toThrow("there is none here: install Python 3");
});
