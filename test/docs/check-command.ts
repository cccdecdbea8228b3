import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { foreignCommand, isCommand } from "../../src/cli/command-names.ts";
import { runParser } from "../../src/cli/commands/create-parser.ts";
import type { ForeignProgram } from "../../src/cli/foreign/foreign-program.ts";
import { IE_SERVING } from "../../src/cli/foreign/ie-serving.ts";
import { KSERVE } from "../../src/cli/foreign/kserve.ts";
import { OVMS } from "../../src/cli/foreign/ovms.ts";
import { SIMPLE_TENSORFLOW_SERVING } from "../../src/cli/foreign/simple-tensorflow-serving.ts";
import { TENSORFLOW_MODEL_SERVER } from "../../src/cli/foreign/tensorflow-model-server.ts";
import { allParsers } from "../../src/cli/main.ts";
import { parseOptionFlags } from "../../src/cli/settings/parse-option-flags.ts";
import { parseSettings } from "../../src/cli/settings/parse-settings.ts";

const { scripts, bin } = JSON.parse(readFileSync("package.json", "utf8"));
/** Files that have what may be named behind a script. */
const LISTS: Readonly<Record<string, string>> = {
  check: readFileSync("scripts/check.ts", "utf8"),
  bench: readFileSync("bench/bench.ts", "utf8"),
};
/** Commands of npm itself. */
const OF_NPM = ["ci", "create", "install", "link", "pack", "start", "test"];
/** Other servers' programs, as their own names and as ours. */
export const FOREIGN: Readonly<Record<string, ForeignProgram>> = {
  "tensorflow-model-server": TENSORFLOW_MODEL_SERVER,
  ovms: OVMS,
  ie_serving: IE_SERVING,
  "simple-tensorflow-serving": SIMPLE_TENSORFLOW_SERVING,
  kserve: KSERVE,
};

/** The words behind `kserving`; undefined for a program that is not ours. Ours under another server's name has that. */
export function ownWords([program = "", ...words]: readonly string[]): readonly string[] | undefined {
  if (program === "kserving") return words;
  return foreignCommand(program) !== undefined && program in bin ? [program, ...words] : undefined;
}

/** Throws for a program of ours whose arguments cannot be read, and for a script of npm that is not there. */
export async function checkProgram(words: readonly string[]): Promise<void> {
  const own = ownWords(words);
  if (own !== undefined) return checkOwn(own);
  if (words[0] === "npm") checkNpm(words.slice(1));
}

async function checkOwn([name = "", ...rest]: readonly string[]): Promise<void> {
  const foreign = foreignCommand(name);
  if (foreign !== undefined) return checkForeign(FOREIGN[foreign] as ForeignProgram, rest);
  if (name === "export") return checkExport(rest);
  if (isCommand(name)) return parse((await allParsers()).get(name) as Command, rest);
  const isProxy = name === "proxy";
  const words = isProxy || name === "serve" ? rest : [name, ...rest];
  const { settings } = parseSettings(isProxy ? "proxy" : "serve", words, { env: {} });
  if ("driver" in settings) parseOptionFlags(settings.option, Math.max(1, settings.modelPath.length));
}

/** Models of another machine are not here. */
async function checkForeign(program: ForeignProgram, words: readonly string[]): Promise<void> {
  await program.read(words, {}).catch((reason) => {
    if (!/does not exist/.test(reason.message)) throw reason;
  });
}

/** The words behind `--` are a command line of `kserving serve`. */
async function checkExport(words: readonly string[]): Promise<void> {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  await parse((await allParsers()).get("export") as Command, words.slice(0, end));
  if (end < words.length) parseSettings("serve", words.slice(end + 1), { env: {} });
}

/** Reads arguments, and does nothing with them. */
async function parse(command: Command, words: readonly string[]): Promise<void> {
  for (const each of [command, ...command.commands]) if (each.commands.length === 0) each.action(() => {});
  await runParser(command, words);
}

function checkNpm([command = "", name = "", , ...args]: readonly string[]): void {
  const isThere = command === "run" ? name in scripts : OF_NPM.includes(command);
  if (!isThere) throw new Error(`npm has no ${command} ${name}`);
  const [what] = args;
  // Capitals stand for a name.
  if (what === undefined || /^(?:-|[A-Z]+$)/.test(what)) return;
  const list = LISTS[name];
  if (list !== undefined && !new RegExp(`^ +"?${what}"?[:,]`, "m").test(list))
    throw new Error(`npm run ${name} -- ${what}: there is no such ${name}`);
}
