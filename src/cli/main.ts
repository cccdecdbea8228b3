import { type Command, CommanderError } from "commander";
import { failedPrecondition } from "../errors.ts";
import { startWaitingWorker } from "../models/threads/waiting-worker.ts";
import { permitCollections } from "../platform/limits/memory/young-garbage.ts";
import { outputProblem } from "../platform/text/file-problem.ts";
import type { ServedVersion } from "../server/served-version.ts";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  type ForeignCommandName,
  foreignCommand,
  isCommand,
} from "./command-names.ts";
import { toErrorText } from "./error-text.ts";
import { EXIT, toExitCode } from "./exit-codes.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign/foreign-program.ts";
import { containerDefaults } from "./settings/container-defaults.ts";
import type { Environment } from "./settings/environment.ts";
import { createFlagParser } from "./settings/flag-parser.ts";
import { parseSettings } from "./settings/parse-settings.ts";
import { readServeSettings, type ServeCommandLine } from "./settings/read-serve-settings.ts";
import { unexpectedArgument } from "./settings/unknown-words.ts";
import type { StatusReporter } from "./status-reporter/status-reporter.ts";

/** Runs a command line (without the program's name) to its end; resolves with the exit code and never rejects. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const [first, ...rest] = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  const foreign = foreignCommand(first);
  if (foreign !== undefined) return runForeign(foreign, rest, env);
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

async function run(argv: readonly string[], env: Environment): Promise<unknown> {
  const [first, ...rest] = argv;
  if (first === "help") return run([...topicOf(argv), "--help"], env);
  if (isCommand(first)) return printing(async () => (await IMPORTS[first]()).run(rest, env));
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

/**
 * Runs a command that prints. A reader that has left, such as `head`, has what it wanted. Throws `failed_precondition`
 * if standard output cannot be written for another reason: the output may be all that was wanted.
 */
async function printing<Result>(run: () => Promise<Result>): Promise<Result> {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
  const result = await run();
  const { errored } = process.stdout;
  if (errored === null || errored === undefined || isReaderGone(errored)) return result;
  throw failedPrecondition(`The output ${outputProblem(errored)}; expected a place that takes all of it.`, errored);
}

/** The stream keeps its first error. */
function ignore(): void {}

function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE";
}

/** The code of a command. */
interface CommandCode {
  /** Runs on the arguments behind the command's name; resolves with its exit code, or anything else for 0. */
  readonly run: (argv: readonly string[], env: Environment) => Promise<unknown>;
  readonly parser: () => Command;
}

/** Commands are imported when they run, so that help does not wait for gRPC and Express. */
const IMPORTS: Readonly<Record<CommandName, () => Promise<CommandCode>>> = {
  inspect: () =>
    import("./commands/inspect-command.ts").then((code) => ({ run: code.inspect, parser: code.createInspectCommand })),
  infer: () =>
    import("./commands/infer-command.ts").then((code) => ({ run: code.infer, parser: code.createInferCommand })),
  compare: () =>
    import("./commands/compare-command.ts").then((code) => ({ run: code.compare, parser: code.createCompareCommand })),
  bench: () =>
    import("./commands/bench-command.ts").then((code) => ({ run: code.bench, parser: code.createBenchCommand })),
  mcp: () =>
    import("./commands/mcp-command.ts").then((code) => ({
      run: code.mcp,
      parser: () => createFlagParser("serve", () => {}),
    })),
  client: () =>
    import("./commands/client-command.ts").then((code) => ({ run: code.client, parser: code.createClientCommand })),
  tune: () => import("./commands/tune-command.ts").then((code) => ({ run: code.tune, parser: code.createTuneCommand })),
  drivers: () =>
    import("./commands/drivers-command.ts").then((code) => ({ run: code.drivers, parser: code.createDriversCommand })),
  new: () => import("./commands/new-command.ts").then((code) => ({ run: code.create, parser: code.createNewCommand })),
  export: () =>
    import("./commands/export-command.ts").then((code) => ({
      run: code.exportCommand,
      parser: () => code.createExportCommand([]),
    })),
  doctor: () =>
    import("./commands/doctor-command.ts").then((code) => ({ run: code.doctor, parser: code.createDoctorCommand })),
  completion: () =>
    import("./commands/completion-command.ts").then((code) => ({
      run: (argv) => code.completion(argv, allParsers),
      parser: code.createCompletionCommand,
    })),
  replay: () =>
    import("./commands/replay-command.ts").then((code) => ({ run: code.replay, parser: code.createReplayCommand })),
  health: () =>
    import("./commands/health-command.ts").then((code) => ({
      run: code.health,
      parser: () => code.createHealthCommand(""),
    })),
  config: () =>
    import("./commands/config-command.ts").then((code) => ({ run: code.config, parser: code.createConfigCommand })),
  runtimes: () =>
    import("./commands/runtimes-command.ts").then((code) => ({
      run: code.runtimes,
      parser: code.createRuntimesCommand,
    })),
  "hash-password": () => importHash("hash-password"),
  "hash-token": () => importHash("hash-token"),
};

async function importHash(name: "hash-password" | "hash-token"): Promise<CommandCode> {
  const { hash, createHashCommand } = await import("./commands/hash-command.ts");
  return { run: (argv) => hash(name, argv), parser: () => createHashCommand(name) };
}

/** The parsers of our own commands by name, `serve` and `proxy` first. */
export async function allParsers(): Promise<ReadonlyMap<string, Command>> {
  const names = Object.keys(COMMANDS) as CommandName[];
  const others = await Promise.all(names.map(async (name) => [name, (await IMPORTS[name]()).parser()] as const));
  const ofSettings = (["serve", "proxy"] as const).map((name) => [name, createFlagParser(name, () => {})] as const);
  return new Map([...ofSettings, ...others]);
}

/** Drivers whose models run in threads of this process. */
export const THREADED: readonly string[] = ["onnx", "openvino", "tensorflow"];
/** Paths that such drivers take: their files, and folders of models or versions. */
const THEIRS = /\.(onnx|ort|xml|pb|tflite)$|(^|\/)[^.]+$/i;

/**
 * Imports `kserving serve`. If the command line looks as if a model would run in a thread, that is started before, to
 * load its code meanwhile.
 */
export async function importServe({ settings, foreign }: ServeCommandLine) {
  permitCollections();
  const { driver, model, modelPath, modelRepository, isolate } = settings;
  const places = [...(foreign?.models ?? []).map(({ path = "" }) => path), ...model, ...modelPath, ...modelRepository];
  const isThreaded = driver.length > 0 ? driver.some((name) => THREADED.includes(name)) : places.some(isTheirs);
  if (isThreaded && !isolate && settings.modelControl !== "explicit") startWaitingWorker();
  return import("./commands/serve-command.ts");
}

function isTheirs(place: string): boolean {
  return THEIRS.test(place);
}

/** Runs the program that SageMaker means by `serve` alone; undefined if it is our own command. */
async function findSagemaker(env: Environment): Promise<number | undefined> {
  const { isSagemakerStart } = await import("./foreign/sagemaker.ts");
  if (!isSagemakerStart(env)) return undefined;
  return runForeign("sagemaker", [], env);
}

type ProgramName = ForeignCommandName | "sagemaker";

/** The programs of other servers, each imported when it runs. */
const PROGRAMS: Readonly<Record<ProgramName, () => Promise<ForeignProgram>>> = {
  "tensorflow-model-server": async () => (await import("./foreign/tensorflow-model-server.ts")).TENSORFLOW_MODEL_SERVER,
  ovms: async () => (await import("./foreign/ovms.ts")).OVMS,
  ie_serving: async () => (await import("./foreign/ie-serving.ts")).IE_SERVING,
  "simple-tensorflow-serving": async () =>
    (await import("./foreign/simple-tensorflow-serving.ts")).SIMPLE_TENSORFLOW_SERVING,
  kserve: async () => (await import("./foreign/kserve.ts")).KSERVE,
  sagemaker: async () => (await import("./foreign/sagemaker.ts")).SAGEMAKER,
};

/**
 * Runs another server's command line to its end as `kserving serve` runs ours, with that server's texts and exit codes.
 * Never rejects.
 */
export async function runForeign(name: ProgramName, argv: readonly string[], env: Environment): Promise<number> {
  const program = await PROGRAMS[name]();
  const failed = new Map<string, ServedVersion>();
  let commandLine: ForeignCommandLine | undefined;
  try {
    const read = await program.read(argv, env);
    if (typeof read === "number") return read;
    commandLine = read;
    const own = await readServeSettings([], env, commandLine);
    const models = [...commandLine.models, ...own.configs.flatMap((config) => config.models)];
    await program.waitForModels?.(models, own.settings);
    const { serve } = await importServe(own);
    return await serve(own, env, withFailures(program.createReporter(own.settings), failed));
  } catch (reason) {
    return program.fail(reason, { commandLine, failed: [...failed.values()] });
  }
}

/** Collects the versions that do not load. */
function withFailures(reporter: Partial<StatusReporter>, failed: Map<string, ServedVersion>): Partial<StatusReporter> {
  const changed = (version: ServedVersion) => {
    if (version.error !== undefined) failed.set(`${version.name}/${version.version}`, version);
    reporter.changed?.(version);
  };
  return { ...reporter, changed };
}
