import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Commands that may start a Python 3, most likely first. */
export function pythonCommands(env: NodeJS.ProcessEnv = process.env): string[] {
  const windows = process.platform === "win32";
  const inside = windows ? join("Scripts", "python.exe") : join("bin", "python3");
  const environments = [env.VIRTUAL_ENV, env.CONDA_PREFIX].filter((folder) => folder !== undefined && folder !== "");
  return [
    ...environments.map((folder) => join(folder as string, inside)),
    ...(windows ? ["python", "py"] : ["python3", "/usr/bin/python3"]),
  ];
}

const run = promisify(execFile);

/** What a Python program prints; undefined where the interpreter is not there, or the program fails. */
export async function runPython(command: string, program: string): Promise<string | undefined> {
  const options = { timeout: 20_000, windowsHide: true } as const;
  return run(command, ["-c", program], options).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}
