import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** How a program is run. */
export interface RunProgramOptions {
  readonly signal: AbortSignal;
  /** Added to this process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Told of each line of standard output as it comes. */
  readonly onLine?: (line: string) => void;
}

/** A program that has ended, and what it printed. */
export interface RanProgram {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end, whatever that is. An abort ends it, and rejects only once it and what it started have let go of its output, so that nobody writes
 * any more where it wrote. Rejects too where it cannot be started.
 */
export async function runProgram(
  [command = "", ...args]: readonly string[],
  { signal, env = {}, onLine = () => {} }: RunProgramOptions,
): Promise<RanProgram> {
  signal.throwIfAborted();
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    windowsHide: true,
  });
  const end = () => child.kill();
  signal.addEventListener("abort", end);
  const [stdout, stderr]: [string[], string[]] = [[], []];
  createInterface(child.stdout).on("line", (line) => {
    stdout.push(line);
    onLine(line);
  });
  createInterface(child.stderr).on("line", (line) => stderr.push(line));
  const [code] = (await once(child, "close").finally(() => signal.removeEventListener("abort", end))) as [
    number | null,
  ];
  signal.throwIfAborted();
  return { code, stdout: stdout.join("\n"), stderr: stderr.join("\n") };
}
