import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS } from "../../../src/cli/command-names.ts";
import { toCompletions } from "../../../src/cli/commands/completion-command.ts";
import { allParsers } from "../../../src/cli/main.ts";
import { hasProgram } from "../../helpers/has-program.ts";
import { runCommand } from "./run-command.ts";

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kserving-completion-"));
  for (const shell of ["bash", "zsh", "fish"])
    writeFileSync(join(folder, `kserving.${shell}`), (await runCommand(["completion", shell])).stdout);
  writeFileSync(join(folder, "emotion.onnx"), "");
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The words that a shell offers after a command line. */
function offered(shell: "bash" | "fish", line: string): string[] {
  const words = line.split(" ");
  const script =
    shell === "bash"
      ? `source kserving.bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _kserving; printf '%s\\n' "\${COMPREPLY[@]}"`
      : `source kserving.fish; complete -C '${line}'`;
  const { stdout, stderr, status } = spawnSync(shell, ["-c", script], { cwd: folder, encoding: "utf8" });
  expect([stderr, status]).toEqual(["", 0]);
  return stdout
    .trim()
    .split("\n")
    .map((text) => text.split("\t")[0] as string);
}

const CASES = [
  ["kserving insp", ["inspect"]],
  ["kserving emo", ["emotion.onnx"]],
  ["kserving inspect emo", ["emotion.onnx"]],
  ["kserving infer m.onnx --to", ["--top"]],
  ["kserving infer m.onnx --driver on", ["onnx"]],
  ["kserving infer m.onnx --format np", ["npy"]],
  ["kserving drivers open", ["openvino"]],
  ["kserving completion f", ["fish"]],
  ["kserving runtimes in", ["install"]],
  ["kserving runtimes install onnx --ver", ["--version"]],
  ["kserving --http-p", ["--http-port"]],
  ["kserving serve --model-cont", ["--model-control"]],
  ["kserving --model-control ex", ["explicit"]],
] as const;

test.skipIf(!hasProgram("bash")).each(CASES)("bash completes %j", (line, words) => {
  expect(offered("bash", line)).toEqual(words);
});

test.skipIf(!hasProgram("fish")).each(CASES)("fish completes %j", (line, words) => {
  expect(offered("fish", line)).toEqual(words);
});

test.skipIf(!hasProgram("zsh"))("zsh takes the script", () => {
  const { stderr, stdout } = spawnSync(
    "zsh",
    ["-fc", "autoload -U compinit; compinit -D; source kserving.zsh; print $_comps[kserving]"],
    { cwd: folder, encoding: "utf8" },
  );
  expect([stderr, stdout]).toEqual(["", "_kserving\n"]);
});

test("every command is completed with the flags of its parser", async () => {
  const parsers = await allParsers();
  const completions = toCompletions(parsers);
  expect([...parsers.keys()]).toEqual(["serve", "proxy", ...Object.keys(COMMANDS)]);
  for (const { words, flags } of completions.filter(({ words }) => words.length === 1))
    expect(flags.length).toBe(
      (parsers.get(words[0] as string)?.options.filter(({ long, hidden }) => long !== "--help" && !hidden).length ??
        0) + 1,
    );
});

test("--json prints the same as data", async () => {
  const { stdout } = await runCommand(["completion", "--json"]);
  const completions = JSON.parse(stdout);
  expect(completions).toEqual(toCompletions(await allParsers()));
  expect(completions).toContainEqual(expect.objectContaining({ words: ["completion"], next: ["bash", "zsh", "fish"] }));
});

test("each command that prints what it found takes --json", async () => {
  const completions = toCompletions(await allParsers());
  const groups = ["config", "runtimes"];
  // They serve, write one line for a file, print JSON anyway, or say in a line what they did.
  const others = ["serve", "proxy", "mcp", "hash-password", "hash-token", "config schema"];
  const installers = ["runtimes install", "runtimes remove"];
  const without = completions
    .filter(({ flags }) => !flags.some(({ names }) => names.includes("--json")))
    .map(({ words }) => words.join(" "));
  expect(without.sort()).toEqual([...groups, ...others, ...installers].sort());
});

test.each([[[]], [["bash", "--json"]]])("completion %j is refused: it is a shell or --json", async (args) => {
  const { code, stderr } = await runCommand(["completion", ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Expected one of bash, zsh, fish or --json")]);
});

test("a shell that is not known is refused", async () => {
  const { code, stderr } = await runCommand(["completion", "csh"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Expected one of bash, zsh, fish")]);
});

test.skipIf(!hasProgram("bash"))("bash completes a path with a space as one word", () => {
  writeFileSync(join(folder, "my model.onnx"), "");
  expect(offered("bash", "kserving inspect my")).toEqual(["my model.onnx"]);
  expect(offered("bash", "kserving infer m.onnx --labels my")).toEqual(["my model.onnx"]);
});

test.skipIf(!hasProgram("zsh"))("zsh completes by a file of fpath from the first time on", () => {
  writeFileSync(join(folder, "_kserving"), readFileSync(join(folder, "kserving.zsh")));
  const stubs = "compdef() { :; }; _describe() { print offered $1; }; _files() { print paths; }";
  const call = "words=(kserving insp); CURRENT=2; PREFIX=insp; _kserving";
  const script = `fpath=(. $fpath); autoload -Uz _kserving; ${stubs}; ${call}`;
  const { stdout, stderr } = spawnSync("zsh", ["-fc", script], { cwd: folder, encoding: "utf8" });
  expect([stderr, stdout]).toEqual(["", "offered command\npaths\n"]);
});
