import { keepTaken, overwriteStart, wholeEnvironment } from "../platform/machine/start-secrets.ts";
import { COMMAND_NAMES, foreignCommand } from "./command-names.ts";
import { runToEnd } from "./lifecycle/own-exit.ts";
import type { Environment } from "./settings/environment.ts";
import { hideWords, takeSecrets } from "./supervisor/secrets.ts";
import { SUPERVISED_VARIABLE } from "./supervisor/supervised-info.ts";

/** The setting `supervisor`, which is needed before settings are read. */
const SUPERVISOR_VARIABLE = "KSERVING_SUPERVISOR";
/** Flags without a supervisor, or with which nothing is served. */
const ALONE = ["--no-supervisor", "--supervisor=false", "--help", "-h", "--version", "-V"];
/** The setting `debuggable`, which is needed as early. */
const DEBUGGABLE = /^--debuggable(?:=(?:true|yes|on|1))?$/i;
const OFF = /^(?:false|no|off|0)$/i;

/** A command line, and what starts the same program again. */
export interface StartOptions {
  /** Without the program's name. */
  readonly argv: readonly string[];
  /** Arguments of Node that start the same. */
  readonly program: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs a command line to its end, one that serves models under a supervisor, which imports nothing that it has no use
 * for. Resolves with its exit code.
 */
export async function start({ argv, program, env }: StartOptions): Promise<number> {
  if (env[SUPERVISED_VARIABLE] !== undefined) return serveSupervised(argv, env);
  if (!serves(argv[0]) && argv[0] !== "mcp") return run(argv, env);
  // Every process of the program looks there.
  if (argv.some((word) => DEBUGGABLE.test(word))) env.KSERVING_DEBUGGABLE = "true";
  const variables = takeSecrets(env);
  overwriteStart(hideWords);
  if (wantsSupervisor(argv, env)) {
    const { supervise } = await import("./supervisor/supervisor.ts");
    const marksPath = flagValue("--crash-marks", argv) ?? env.KSERVING_CRASH_MARKS;
    const shown = hideWords(program);
    const hasSecrets = Object.keys(variables).length > 0 || shown.some((word, index) => word !== program[index]);
    return supervise(shown, { env, marksPath, secrets: hasSecrets ? { argv, variables } : undefined });
  }
  process.argv.splice(0, process.argv.length, ...hideWords(process.argv));
  keepTaken(variables);
  return run(argv, wholeEnvironment());
}

async function serveSupervised(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { supervised, takeSupervised } = await import("./supervisor/supervised.ts");
  const secrets = takeSupervised(env);
  overwriteStart(hideWords);
  keepTaken(secrets?.variables ?? {});
  const code = await run(secrets?.argv ?? argv, wholeEnvironment());
  supervised()?.enter("ending");
  return code;
}

async function run(argv: readonly string[], env: Environment): Promise<number> {
  return runToEnd(async () => (await import("./main.ts")).main(argv, env));
}

/** The value of a flag that is needed before settings are read. */
function flagValue(flag: string, argv: readonly string[]): string | undefined {
  const joined = argv.find((word) => word.startsWith(`${flag}=`));
  const index = argv.indexOf(flag);
  return joined?.slice(flag.length + 1) ?? (index < 0 ? undefined : argv[index + 1]);
}

function wantsSupervisor(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const isDebugged = /--inspect/.test(`${process.execArgv.join(" ")} ${env.NODE_OPTIONS ?? ""}`);
  if (process.platform === "win32" || isDebugged || OFF.test(env[SUPERVISOR_VARIABLE] ?? "")) return false;
  return serves(argv[0]) && !argv.some((word) => ALONE.includes(word));
}

/** Commands that do something else than serving models load them too, but have no clients. */
function serves(word: string | undefined): boolean {
  return word === "serve" || foreignCommand(word) !== undefined || ![...COMMAND_NAMES, "help"].includes(word ?? "");
}
