import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { pytorch } from "./native-runtimes.ts";
import { runProgram } from "./run-program.ts";
import { compareVersions, installedRuntimes } from "./runtimes-folder.ts";

/** Commands that may start a Python 3, most likely first. */
export function pythonCommands(env: NodeJS.ProcessEnv = process.env): string[] {
  const environments = [env.VIRTUAL_ENV, env.CONDA_PREFIX].filter((folder) => folder !== undefined && folder !== "");
  return [
    ...environments.map((folder) => interpreterIn(folder as string)),
    ...(process.platform === "win32" ? ["python", "py"] : ["python3", "/usr/bin/python3"]),
  ];
}

/**
 * Interpreters in which a driver searches for its framework, in this order: {@link pythonCommands}, then those of
 * `kserving runtimes install pytorch`.
 */
export function frameworkPythons(): string[] {
  return [...pythonCommands(), ...installedRuntimes(pytorch.name).map(({ folder }) => interpreterIn(folder))];
}

/** The interpreter of a Python environment. */
export function interpreterIn(environment: string): string {
  return join(environment, ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python3"]));
}

const run = promisify(execFile);

/** Output of a Python program; undefined if the interpreter is not there, or the program fails. */
export async function runPython(command: string, program: string): Promise<string | undefined> {
  const options = { timeout: 20_000, windowsHide: true } as const;
  return run(command, ["-c", program], options).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

/** An interpreter that can make environments. */
interface BasePython {
  readonly path: string;
  readonly version: string;
}

const PRINT_ABILITY = `
import json, sys
try:
    import ensurepip, venv
    able = True
except ImportError:
    able = False
print(json.dumps([sys.executable, "%d.%d" % sys.version_info[:2], able]))`;

/**
 * The first interpreter that can make environments; throws `failed_precondition` with what to install if none can.
 */
export async function findBasePython(commands = pythonCommands()): Promise<BasePython> {
  const unable: string[] = [];
  for (const command of commands) {
    const printed = await runPython(command, PRINT_ABILITY);
    if (printed === undefined) continue;
    const [path, version, isAble] = JSON.parse(printed) as [string, string, boolean];
    if (isAble) return { path, version };
    unable.push(`${path} (Python ${version})`);
  }
  throw failedPrecondition(unable.length === 0 ? NO_PYTHON : cannotMake(unable));
}

const NO_PYTHON =
  "PyTorch models run in a Python of their own, and there is none here: install Python 3 (apt-get install python3-venv).";

function cannotMake(unable: readonly string[]): string {
  const which = [...new Set(unable)].join(", ");
  return `${which} cannot make a Python environment, since the modules venv and ensurepip are missing: apt-get install python3-venv; or apt-get install python3-torch, which needs no environment.`;
}

/** Makes an environment with pip in a folder; returns its interpreter. */
export async function createEnvironment(python: BasePython, folder: string, signal: AbortSignal): Promise<string> {
  const { code, stdout, stderr } = await runProgram([python.path, "-m", "venv", "--clear", folder], { signal });
  if (code === 0) return interpreterIn(folder);
  const said = (stderr || stdout).trim().split("\n").at(-1);
  const message = `${python.path} -m venv could not make a Python environment: ${said}`;
  throw failedPrecondition(message, new Error(`${stdout}\n${stderr}`));
}

/**
 * Prepares an environment for another place than the one where it was made: its interpreters find themselves, the other
 * scripts have its old path in them.
 */
export async function makeMovable(interpreter: string): Promise<void> {
  const scripts = await readdir(dirname(interpreter));
  const bound = scripts.filter((name) => !name.startsWith("python"));
  await Promise.all(bound.map((name) => rm(join(dirname(interpreter), name), { recursive: true })));
}

/** Options of a run of pip. */
export interface PipOptions {
  readonly signal: AbortSignal;
  /** Gets what pip keeps for the length of its run. */
  readonly scratch: string;
  readonly onLine?: (line: string) => void;
}

/**
 * Runs pip in an environment, with the user's own configuration; returns its output.
 * Throws `unavailable` with pip's error.
 */
export async function runPip(interpreter: string, args: readonly string[], options: PipOptions): Promise<string> {
  const { scratch, ...rest } = options;
  const env = { TMPDIR: scratch, TEMP: scratch, PIP_USER: "0", PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_NO_INPUT: "1" };
  const { code, stdout, stderr } = await runProgram([interpreter, "-I", "-m", "pip", ...args], { ...rest, env });
  if (code === 0) return stdout;
  throw new ServingError("unavailable", `pip ${args[0]} failed: ${pipErrorText(stderr)}.`, {
    cause: new Error(stderr),
  });
}

/** The first version of pip that can report what it would install. */
const OLDEST_PIP = "22.2";

/** Updates a pip that is too old to report what it would install. */
export async function updatePip(interpreter: string, options: PipOptions): Promise<void> {
  const [, version = "0"] = /^pip (\S+)/.exec(await runPip(interpreter, ["--version"], options)) ?? [];
  if (compareVersions(version, OLDEST_PIP) >= 0) return;
  await runPip(interpreter, ["install", "--quiet", "--upgrade", "pip"], options);
}

/** The line of pip's standard error with the error, without its full stop. */
export function pipErrorText(stderr: string): string {
  const lines = stderr.trim().split(/\r?\n/);
  const errors = lines.filter((line) => line.startsWith("ERROR:"));
  return (errors.at(-1) ?? lines.at(-1) ?? "").replace(/^ERROR: |\.$/g, "");
}
