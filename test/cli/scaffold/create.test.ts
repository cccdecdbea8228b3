import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "../commands/run-command.ts";

const PROGRAM = resolve("packages/create/dist/cli/scaffold/create.js");
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** Runs the package's program in a new folder, with an input that is no terminal. */
function create(words: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const cwd = tempFolder(files);
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], { cwd, encoding: "utf8" });
  return { cwd, status, stdout, stderr };
}

/** Runs it at a terminal, at which `input` is typed. */
function createAtTerminal(input: string) {
  const cwd = tempFolder({});
  const command = `'${process.execPath}' '${PROGRAM}'`;
  const { status, stdout } = spawnSync("script", ["-qec", command, "/dev/null"], { cwd, input, encoding: "utf8" });
  return { cwd, status, stdout };
}

function textsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder).filter((file) => file !== "node_modules");
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}

test.each(["hooks", "driver", "project"])(
  "create-kserving %s writes what kserving new does, for npm to install",
  async (kind) => {
    const linked = join(tempFolder({}), "mine");
    await runCommand(["new", kind, linked]);
    const { cwd, status, stdout } = create([kind, "mine"]);
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^ {2}cd mine\n {2}npm install\n {2}npm test\n {2}npm start\n$/m),
    ]);
    const {
      "package.json": manifest = "",
      "README.md": readme,
      "AGENTS.md": agents,
      ...made
    } = textsOf(join(cwd, "mine"));
    const { "package.json": other = "", "README.md": _, "AGENTS.md": __, ...same } = textsOf(linked);
    expect(made).toEqual(same);
    expect(JSON.parse(manifest)).toEqual({ ...JSON.parse(other), dependencies: { kserving: `^${version}` } });
    expect(readme).toMatch(/^ {4}npm install\n {4}npm test .*\n {4}npm start .*\n {4}npm run typecheck\n/m);
    expect(agents).toMatch(
      /^ {4}npm install\n {4}npm test {25}# .*\n {4}npm start {24}# .*\n {4}npm run typecheck {16}# /m,
    );
  },
);

test("without a terminal nothing is asked: a word that is no kind is the folder of a project", () => {
  const { cwd, status } = create(["faces"]);
  expect([status, existsSync(join(cwd, "faces/serving.yaml"))]).toEqual([0, true]);
  const plain = create([]);
  expect([plain.status, readdirSync(plain.cwd)]).toEqual([0, ["project"]]);
});

test("at a terminal the kind and the folder are asked for, and nothing is written for who leaves", () => {
  const { cwd, status, stdout } = createAtTerminal("driver\nmine\n");
  expect([status, stdout]).toEqual([0, expect.stringContaining("hooks, driver, project (project): ")]);
  expect(existsSync(join(cwd, "mine/driver.ts"))).toBe(true);
  const usual = createAtTerminal("\n\n");
  expect([usual.status, readdirSync(usual.cwd)]).toEqual([0, ["project"]]);
  const left = createAtTerminal("driver\n\u0004");
  expect([left.status, left.stdout]).toEqual([2, expect.stringContaining("Nothing was written.")]);
  expect(readdirSync(left.cwd)).toEqual([]);
});

test.each([
  [
    ["hooks", "mine"],
    'The folder "mine" has old.txt in it; expected one that is empty or not there: npm create kserving hooks FOLDER.',
  ],
  [["models", "faces"], 'The kind "models" is unknown; expected hooks, driver, project.'],
  [["hooks", "faces", "more"], "There are 3 words; expected KIND and FOLDER."],
  [["--kind=hooks"], "Unknown option '--kind'"],
  [
    ["hooks", "mine/old.txt/faces"],
    'The folder "mine/old.txt/faces" does not exist, since a part of its path is not a folder',
  ],
])("create-kserving %j is refused, and says what to do", (words, message) => {
  const { cwd, status, stderr } = create(words, { "mine/old.txt": "" });
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr).toContain("npm create kserving -- --help says more.");
  expect(readdirSync(cwd, { recursive: true }).sort()).toEqual(["mine", "mine/old.txt"]);
});

test("create-kserving depends on no package, and says its version", () => {
  const manifest = JSON.parse(readFileSync("packages/create/package.json", "utf8"));
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  const [, imports = ""] = /^#!.*\n((?:import .*\n)+)/.exec(readFileSync(PROGRAM, "utf8")) ?? [];
  expect(imports).toMatch(/^(?:import .* from "node:[a-z/]+";\n)+$/);
  expect(create(["--version"]).stdout).toBe(`${version}\n`);
});
