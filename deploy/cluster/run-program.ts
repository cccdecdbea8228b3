import { spawn } from "node:child_process";
import { once } from "node:events";

/** Input and limits of a program. */
export interface ProgramOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Its standard input. */
  readonly input?: string;
  /** Time after which it is killed; a minute where it is left out. */
  readonly seconds?: number;
}

/** Runs a program to its end, without holding up this one; returns its standard output, throws with all of it. */
export async function runProgram(command: readonly string[], options: ProgramOptions = {}): Promise<string> {
  const { env, input = "", seconds = 60 } = options;
  const [program, ...args] = command as [string];
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) child[name].on("data", (bytes) => (printed[name] += bytes));
  // It may end without reading.
  child.stdin.once("error", () => undefined).end(input);
  const [code, signal] = await once(child, "close");
  if (code === 0) return printed.stdout;
  throw new Error(`${command.join(" ")} ended with ${code ?? signal}:\n${printed.stdout}${printed.stderr}`);
}
