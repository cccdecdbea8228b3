import { execFile } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";

const CHILD = fileURLToPath(new URL("unreadable-child.mjs", import.meta.url));

const LOCKED = { config: "config.pbtxt", folder: ".", version: "1" };

// Root may read everything, and becomes another user for it.
test("models that may not be read are refused by name with that reason, and the others are served", async () => {
  const folder = tempFolder({ "good/config.pbtxt": 'backend: "null"', "good/1/.keep": "" });
  chmodSync(folder, 0o755);
  onTestFinished(() => Object.entries(LOCKED).forEach((each) => void chmodSync(join(folder, ...each), 0o755)));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--import",
    "tsx",
    CHILD,
    folder,
    JSON.stringify(LOCKED),
  ]);
  const { uid, status, states } = JSON.parse(stdout);
  expect([uid === 0, status]).toEqual([false, 200]);
  const refused = (path: string) => [
    "END",
    "failed_precondition",
    expect.stringContaining(`${path}" may not be read (p`),
  ];
  expect(states).toEqual({
    config: refused("config/config.pbtxt"),
    folder: refused("/folder"),
    good: ["AVAILABLE", null, null],
    version: refused("version/1"),
  });
});
