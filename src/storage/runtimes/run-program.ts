import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Options of a program's run. */
export interface RunProgramOptions {
  readonly signal: AbortSignal;
  /** Added to this process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of standard output. */
  readonly onLine?: (line: string) => void;
}

/** A program that has ended, and its output. */
export interface RanProgram {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** True if a program and its children can be ended together, which Windows does otherwise. */
const HAS_GROUPS = process.platform !== "win32";

/**
 * Runs a program to its end, whatever that is. An abort ends it with all that it has started, and rejects only once its
 * output is closed, so that nothing writes any more where it wrote. Rejects too if it cannot be started.
 */
export async function runProgram(
  [command = "", ...args]: readonly string[],
  { signal, env = {}, onLine = () => {} }: RunProgramOptions,
): Promise<RanProgram> {
  signal.throwIfAborted();
  const options = { env: { ...process.env, ...env }, detached: HAS_GROUPS, windowsHide: true };
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const end = () => endGroup(child);
  signal.addEventListener("abort", end);
  const [stdout, stderr]: [string[], string[]] = [[], []];
  createInterface(child.stdout).on("line", (line) => {
    stdout.push(line);
    onLine(line);
  });
  createInterface(child.stderr).on("line", (line) => stderr.push(line));
  const closed = once(child, "close").finally(() => signal.removeEventListener("abort", end));
  const [code] = (await closed) as [number | null];
  signal.throwIfAborted();
  return { code, stdout: stdout.join("\n"), stderr: stderr.join("\n") };
}

function endGroup(child: ChildProcess): void {
  if (!HAS_GROUPS || child.pid === undefined) return void child.kill();
  try {
    process.kill(-child.pid, "SIGTERM");
  } catch {
    // It has ended already.
  }
}
