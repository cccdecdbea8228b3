import { relative } from "node:path";
import { expect, test } from "vitest";
import { filesOfModule } from "../../../src/cli/export/deployment-needs.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const HOOKS = `
import os, labels as names, json
from faces.draw import box
def preprocess(inputs):
    from late import later
    return inputs`;

test("hooks in Python come with what they import from their folder, and with their list of packages", async () => {
  const folder = tempFolder({
    "hooks.py": HOOKS,
    "labels.py": "import more  # and nothing else\nimport hooks",
    "more.py": "import_me = 'import other'",
    "late.py": "",
    "other.py": "",
    "requirements.txt": "requests",
    "faces/__init__.py": "",
    "faces/draw.py": "import within",
    "faces/fonts/plain.ttf": "",
    "faces/__pycache__/draw.pyc": "",
  });
  const files = await filesOfModule(`${folder}/hooks.py`);
  const names = files.map((file) => relative(folder, file));
  expect(names[0]).toBe("hooks.py");
  expect(names.sort()).toEqual([
    "faces/__init__.py",
    "faces/draw.py",
    "faces/fonts/plain.ttf",
    "hooks.py",
    "labels.py",
    "late.py",
    "more.py",
    "requirements.txt",
  ]);
});
