import { readdirSync, type Stats, statSync } from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import { failedPrecondition, ServingError, systemCode } from "../../errors.ts";
import { unlessAborted } from "../../platform/async/cancel-source.ts";
import { processMemory } from "../../platform/processes/watched-child.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { PYTHON_FRAMEWORKS, type PythonFramework } from "../../storage/runtimes/python-frameworks.ts";
import { type Driver, type DriverHost, defineDriver, type Model, type PartsModel } from "../driver.ts";
import { describeNoModel, folderContents, readHead } from "../file-kind.ts";
import type { OptionSpec, OptionTable } from "../option-table.ts";
import { boosterLibrary } from "./booster-file.ts";
import { type PythonSearch, startWithFirst } from "./first-python.ts";
import { isMlflowFolder } from "./mlflow-folder.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions, parseNames, parseSpecs } from "./python-host-options.ts";
import { createPythonModel, type LoadedFacts } from "./python-model.ts";
import { PythonProcess } from "./python-process.ts";
import { SupervisedProcess } from "./supervised-process.ts";

/** A framework that runs in Python. */
interface Framework {
  /** The driver, and its module in python/kserving_host/frameworks. */
  readonly name: string;
  /** Its usual name. */
  readonly title: string;
  /** The module that it is imported as. */
  readonly module: string;
  /** Files that are expected at a path, for the message if nothing is. */
  readonly files: string;
  /** The kind of path that all its models have; absent where it is either. */
  readonly takes?: "file" | "folder";
  /** Advice on installing it if it is missing. */
  readonly howToInstall: string;
}

/** A model and the framework that loads it. */
interface PythonSource {
  readonly framework: Framework;
  readonly path: string;
  readonly options: PythonHostOptions & { readonly threads?: number };
  /** The options for the framework's module. */
  readonly own: Readonly<Record<string, unknown>>;
}

/** A process with the model in it. */
interface Started {
  readonly process: PythonProcess;
  readonly loaded: LoadedFacts;
}

/**
 * Loads a model in processes of the first interpreter with the framework. Throws `failed_precondition` if there is
 * none, and with Python's error for the model.
 */
export async function loadPythonModel(source: PythonSource, host: DriverHost): Promise<Model | PartsModel> {
  assertIsModel(source);
  const request = toRequest(source, host);
  const log = host.log.child({ driver: source.framework.name });
  const { threads, signal = new AbortController().signal } = host;
  const start = (python: string, until = signal) =>
    startProcess(python, { source, request, host: { threads, log, signal: until } });
  const first = await startWithFirst(toSearch(source, (python) => start(python)));
  const { python } = first.loaded;
  log.info("the model runs in Python", { python, pid: first.process.pid, ...first.loaded.facts });
  const again = async (until: AbortSignal) => sameModel(await start(python, until), first, source.path);
  const others = await startAll(source.options.processes - 1, () => again(signal), first.process);
  const processes = [first.process, ...others].map((process) => new SupervisedProcess(process, again, log));
  const size = await processMemory(first.process.pid);
  const memory = size !== undefined && { memoryBytes: size * processes.length };
  return { ...createPythonModel(source.framework.name, processes, first.loaded), ...memory };
}

/** The process of a model that is still the one that was loaded first: clients were told its inputs and outputs. */
async function sameModel({ process, loaded }: Started, first: Started, path: string): Promise<PythonProcess> {
  const facts = ({ signature: { inputs, outputs }, inParts, atOnce }: LoadedFacts) =>
    JSON.stringify([inputs, outputs, inParts, atOnce]);
  if (facts(loaded) === facts(first.loaded)) return process;
  await process.close();
  throw failedPrecondition(`The model at "${path}" has other inputs or outputs than before; load it again.`);
}

/** Settings of a process; the signal gives its start up. */
type ProcessHost = Pick<DriverHost, "threads" | "log"> & Required<Pick<DriverHost, "signal">>;

/** Before an interpreter is started, which takes seconds. */
function assertIsModel({ framework: { name, files, takes }, path }: PythonSource): void {
  const stat = path === "" ? undefined : statOf(path, `expected ${files}`);
  if (takes === "file" && stat?.isDirectory())
    throw failedPrecondition(`"${path}" is a folder; expected ${files} itself.`, folderContents(namesIn(path)));
  if (takes === "folder" && stat?.isFile()) throw failedPrecondition(`"${path}" is a file; expected ${files}.`);
  // A class of the user's own may read anything.
  if (name === "python" || stat?.isFile() !== true) return;
  if (stat.size === 0) throw failedPrecondition(`The model file "${path}" is empty; expected ${files}.`);
  const kind = describeNoModel(readHead(path));
  if (kind !== undefined) throw failedPrecondition(`"${path}" is no model: it looks like ${kind}.`);
}

/** None of a folder that cannot be read. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function statOf(path: string, expected: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    const isMissing = ["ENOENT", "ENOTDIR"].includes(systemCode(cause));
    const message = isMissing ? `No model at "${path}"` : `The model "${path}" ${readProblem(cause)}`;
    throw failedPrecondition(`${message}; ${expected}.`, cause);
  }
}

function toRequest(
  { framework, path, options, own }: PythonSource,
  { threads, hookFolder }: DriverHost,
): Record<string, unknown> {
  const { inputs, outputs, import_path: more = "" } = options;
  const file = resolve(path);
  const paths = [hookFolder ?? "", ...more.split(delimiter)].filter((each) => each !== "");
  const isClass = own.model_class !== undefined;
  // A file beside a model must not stand for a module that a library imports, nor be run where pickles may not be.
  const last = isClass || own.allow_pickle === false ? [] : [folderOf(file)];
  return {
    framework: framework.name,
    module: framework.module,
    // The path as the user gave it, for messages.
    path,
    options: own,
    threads: options.threads || threads,
    import_paths: isClass ? [folderOf(file), ...paths] : paths,
    last_import_paths: last,
    inputs: inputs === undefined ? null : parseSpecs(inputs),
    outputs: outputs === undefined ? null : parseNames(outputs),
  };
}

/** A class that needs no file is looked for in the folder in which the server was started. */
function folderOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path);
}

/** An interpreter that lacks the framework leaves the next one its turn. */
function toSearch(
  { framework, options }: PythonSource,
  start: (python: string) => Promise<Started>,
): PythonSearch<Started> {
  const { name, title, howToInstall } = framework;
  return { who: `The ${name} driver finds`, title, howToInstall, python: options.python, start };
}

async function startProcess(
  python: string,
  { source, request, host }: { source: PythonSource; request: Record<string, unknown>; host: ProcessHost },
): Promise<Started> {
  const { signal } = host;
  signal.throwIfAborted();
  const { timeout } = source.options;
  const threads = source.options.threads || host.threads;
  const process = await PythonProcess.start({ python, threads, timeoutMs: 1000 * timeout, log: host.log });
  try {
    signal.throwIfAborted();
    const { result } = await unlessAborted(process.ask({ op: "load", ...request }), signal);
    process.limitTime();
    return { process, loaded: result as LoadedFacts };
  } catch (reason) {
    // Code that hangs never closes the model.
    if (signal.aborted) process.kill();
    await process.close();
    signal.throwIfAborted();
    throw await toLoadError(reason, process);
  }
}

/** The last log lines of a process that ended before its answer give the reason. */
async function toLoadError(reason: unknown, process: PythonProcess): Promise<unknown> {
  if (!(reason instanceof ServingError) || reason.code !== "unavailable") return reason;
  const words = process.lastWords === "" ? "" : ` (${process.lastWords})`;
  return new ServingError("unavailable", `it ${await process.ended}${words}`, { cause: reason });
}

async function startAll(
  count: number,
  start: () => Promise<PythonProcess>,
  first: PythonProcess,
): Promise<PythonProcess[]> {
  const results = await Promise.allSettled(Array.from({ length: count }, start));
  const started = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return started;
  await Promise.all([first, ...started].map((process) => process.close()));
  throw failed.reason;
}

/**
 * The driver of a framework that needs nothing but its entry of
 * {@link PYTHON_FRAMEWORKS}, its options and its Python module.
 */
export function frameworkDriver(name: string): Driver {
  const { install, files = "", endings = [], ...known } = PYTHON_FRAMEWORKS[name] as PythonFramework;
  const framework = { ...known, name, files, howToInstall: `Install it there: ${install}.` };
  const ownTable = frameworkOptions(name);
  return defineDriver<PythonHostOptions, Model | PartsModel>({
    name,
    options: { ...ownTable, ...PYTHON_HOST_OPTIONS } as OptionTable<PythonHostOptions>,
    placement: "inline",
    isIsolated: true,
    detect: (path) => {
      if (name === "mlflow") return isMlflowFolder(path);
      const library = boosterLibrary(path);
      return library === undefined ? endings.some((ending) => path.toLowerCase().endsWith(ending)) : library === name;
    },
    load: (path, options, host) => {
      const own = Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(ownTable, key)));
      return loadPythonModel({ framework, path, options, own }, host);
    },
  });
}

type Options = Readonly<Record<string, OptionSpec>>;

/** The `-o` keys that a framework's module takes in addition to those of the host of Python models. */
function frameworkOptions(name: string): Options {
  return { ...OF_FRAMEWORKS[name], ...(PYTHON_FRAMEWORKS[name]?.hasPickles && OF_PICKLES) };
}

const OF_PICKLES: Options = {
  allow_pickle: {
    type: "boolean",
    default: false,
    help: "Loads pickles and joblib files, which run whatever code is in them; for files that you trust.",
  },
};

const OF_FRAMEWORKS: Readonly<Record<string, Options>> = {
  transformers: {
    task: {
      type: "string",
      help: "The task of the pipeline, such as text-classification; left out, that of the class in config.json.",
    },
    device: { type: "string", default: "cpu", help: "Where the model runs: cpu, cuda, cuda:N or mps." },
    argument: {
      type: "prefix",
      help: "Arguments of each run, as JSON or text, such as argument.max_new_tokens=40 or argument.truncation=true.",
    },
    trust_remote_code: {
      type: "boolean",
      default: false,
      help: "Runs Python code that lies in the model's folder; for folders that you trust.",
    },
  },
};
