import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

test.each(["hooks", "driver", "project"])(
  "new %s writes a folder whose README names its files and its start",
  async (kind) => {
    const folder = join(tempFolder({}), "My Folder");
    const { code, stdout } = await runCommand(["new", kind, folder, "--json"]);
    const { files } = JSON.parse(stdout);
    expect([code, files]).toEqual([0, expect.arrayContaining(["package.json", "tsconfig.json", "README.md"])]);
    expect(readdirSync(folder).sort()).toEqual([...files, "node_modules"].sort());
    expect(existsSync(join(folder, "node_modules/kserving/package.json"))).toBe(true);
    const { name, scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(name).toBe("my-folder");
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    for (const text of [scripts.start, files.find((file: string) => file.endsWith(".test.mjs"))])
      expect(readme).toContain(text);
  },
);

test.each(["hooks", "driver", "project"])("the built program writes the same %s", async (kind) => {
  const [own, built] = [join(tempFolder({}), kind), join(tempFolder({}), kind)];
  const { stdout } = await runCommand(["new", kind, own, "--json"]);
  execFileSync(process.execPath, ["bin/kserving.cjs", "new", kind, built]);
  for (const file of JSON.parse(stdout).files)
    expect(readFileSync(join(built, file), "utf8")).toBe(readFileSync(join(own, file), "utf8"));
});

test("installing a folder that new has written builds nothing, since an installed package has no sources", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  // npm runs it where the package is a folder, as it is for these.
  const outcome = execFileSync("sh", ["-c", `${scripts.prepare} && ls`], {
    cwd: tempFolder({ "dist/index.js": "" }),
    encoding: "utf8",
  });
  expect(outcome).toBe("dist\n");
});

test("new prints commands that work for a folder with a space", async () => {
  const folder = join(tempFolder({}), "it's mine");
  const { stdout } = await runCommand(["new", "hooks", folder]);
  const [, command = ""] = /^ {2}(cd .*)$/m.exec(stdout) ?? [];
  expect(execFileSync("sh", ["-c", `${command} && pwd`], { encoding: "utf8" })).toBe(`${folder}\n`);
});

test("new leaves a folder alone in which there is something, and refuses other kinds", async () => {
  const folder = tempFolder({ "mine.txt": "" });
  const { code, stderr } = await runCommand(["new", "hooks", folder]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("has mine.txt in it; expected one that is empty")]);
  expect(readdirSync(folder)).toEqual(["mine.txt"]);
  expect((await runCommand(["new", "hooks", join(folder, "mine.txt")])).code).toBe(2);
  expect((await runCommand(["new", "model"])).stderr).toContain("Expected one of hooks, driver, project");
});
