import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

test.each([["hooks"], ["hooks", "--stream"], ["driver"], ["project"]])(
  "the folder of new %s %s is green at once, in its tests and its types",
  { timeout: 120_000 },
  async (kind, ...flags) => {
    const folder = join(tempFolder({}), `my ${kind} é`);
    await runCommand(["new", kind, folder, ...flags]);
    const run = (...args: string[]) =>
      spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env: { PATH: process.env.PATH ?? "" } });
    const { stdout, status } = run("--test");
    expect([status, stdout]).toEqual([0, expect.stringMatching(/fail 0/)]);
    symlinkSync(resolve("node_modules/@types"), join(folder, "node_modules/@types"));
    const compiled = run(resolve("node_modules/typescript/bin/tsc"));
    expect([compiled.stdout, compiled.status]).toEqual(["", 0]);
  },
);
