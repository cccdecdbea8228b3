import { CommanderError } from "commander";
import { COMMAND_NAMES, type ForeignCommandName, foreignCommand, isCommand } from "./command-names.ts";
import { importCommand } from "./commands/import-command.ts";
import { importServe } from "./commands/import-serve.ts";
import { toErrorText } from "./error-text.ts";
import { EXIT, toExitCode } from "./exit-codes.ts";
import { printing } from "./lifecycle/printing.ts";
import { containerDefaults } from "./settings/container-defaults.ts";
import type { Environment } from "./settings/environment.ts";
import { parseSettings } from "./settings/parse-settings.ts";
import { readServeSettings } from "./settings/read-serve-settings.ts";
import { unexpectedArgument } from "./unexpected-argument.ts";

/** Runs a command line (without the program's name) to its end; resolves with the exit code and never rejects. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const [first, ...rest] = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  const foreign = foreignCommand(first);
  if (foreign !== undefined) return runForeignCommand(foreign, rest, env);
  const sagemaker = first === "serve" && rest.length === 0 ? await findSagemaker(env) : undefined;
  if (sagemaker !== undefined) return sagemaker;
  try {
    const code = await run(argv, env);
    return typeof code === "number" ? code : EXIT.ok;
  } catch (reason) {
    // Help or the version was asked for, and is printed.
    if (reason instanceof CommanderError && reason.exitCode === 0) return EXIT.ok;
    const wanted = { causes: wantsCauses(argv, env), excerpt: wantsExcerpt(argv, env) };
    process.stderr.write(toErrorText(reason, wanted));
    return toExitCode(reason);
  }
}

/** Commands are imported when they run, so that help does not wait for gRPC and Express. */
async function run(argv: readonly string[], env: Environment): Promise<unknown> {
  const [first, ...rest] = argv;
  if (first === "help") return run([...topicOf(argv), "--help"], env);
  if (isCommand(first)) return printing(async () => (await importCommand(first))(rest, env));
  if (first === "proxy") {
    const parsed = parseSettings(first, rest, { env, files: containerDefaults() });
    const { proxy } = await import("./commands/proxy-command.ts");
    await proxy(parsed, env);
    return undefined;
  }
  const parsed = await readServeSettings(first === "serve" ? rest : argv, env);
  const { serve } = await importServe(parsed);
  return serve(parsed, env);
}

/** Another server's command line has that server's texts and exit codes. */
async function runForeignCommand(name: ForeignCommandName, argv: readonly string[], env: Environment): Promise<number> {
  const { runForeign } = await import("./foreign/run-foreign.ts");
  return runForeign(name, argv, env);
}

/** Runs the program that SageMaker means by `serve` alone; undefined if it is our own command. */
async function findSagemaker(env: Environment): Promise<number | undefined> {
  const { isSagemakerStart } = await import("./foreign/sagemaker.ts");
  if (!isSagemakerStart(env)) return undefined;
  const { runForeign } = await import("./foreign/run-foreign.ts");
  return runForeign("sagemaker", [], env);
}

/** The words behind `help`: without this check, help on a word that is not a command would be help on everything. */
function topicOf([, ...topic]: readonly string[]): readonly string[] {
  const [word] = topic;
  if (word === undefined || word.startsWith("-") || COMMAND_NAMES.some((name) => name === word)) return topic;
  throw unexpectedArgument(word, true);
}

function wantsCauses(argv: readonly string[], env: Environment): boolean {
  return /^(?:debug|trace)$/i.test(wordFor("log-level", argv) ?? env.KSERVING_LOG_LEVEL ?? env.LOG_LEVEL ?? "");
}

/** One line elsewhere, for those who collect them. */
function wantsExcerpt(argv: readonly string[], env: Environment): boolean {
  const format = wordFor("log-format", argv) ?? env.KSERVING_LOG_FORMAT;
  return format === "text" || (process.stderr.isTTY && format !== "json");
}

/** A flag's value. Settings may be the very thing that could not be read, so this looks at the bare words. */
function wordFor(flag: string, argv: readonly string[]): string | undefined {
  return new RegExp(`--${flag}=(\\w+)`).exec(argv.join("="))?.[1];
}
