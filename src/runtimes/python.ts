import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pytorch } from "./pytorch.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

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

/** Output of a Python program; undefined where the interpreter is not there, or the program fails. */
export async function runPython(command: string, program: string): Promise<string | undefined> {
  const options = { timeout: 20_000, windowsHide: true } as const;
  return run(command, ["-c", program], options).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}
