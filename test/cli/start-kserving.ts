import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));

/** A line of the program's JSON log. */
export interface LogEvent {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The end of a program. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A started program. */
export interface StartedProgram {
  readonly pid: number | undefined;
  readonly kill: ChildProcess["kill"];
  /** Types at the program's terminal. */
  type(keys: string): void;
  /** Ends what is typed. */
  endInput(): void;
  /** Reads nothing of its standard output any more, as `| head -1` does. */
  stopReading(): void;
  /** Resolves with the first event of the log that has this message; rejects when the program ends without. */
  event(msg: string): Promise<LogEvent>;
  /** Resolves with the first match in standard output, or in standard error. */
  output(pattern: RegExp, stream?: "stdout" | "stderr"): Promise<RegExpExecArray>;
  ended(): Promise<Ended>;
}

/**
 * Settings of the user who runs the tests must not reach the program, which ends
 * without a delay where the test asks for none.
 */
function cleanEnv(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !/^(KSERVING_|LOG_)/.test(name));
  return { ...Object.fromEntries(names.map((name) => [name, process.env[name]])), KSERVING_SHUTDOWN_DELAY: "0" };
}

/** Starts the real program on pipes, or with its standard output in a file; it is killed when the test ends. */
export function startKserving(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdout: "pipe" | number = "pipe",
): StartedProgram {
  const stdio: StdioOptions = ["pipe", stdout, "pipe"];
  return watch(spawn(process.execPath, [PROGRAM, ...args], { env: { ...cleanEnv(), ...env }, stdio }));
}

/** Starts the real program with listening sockets from descriptor 3 on, as systemd does. */
export function startWithSockets(
  args: readonly string[],
  descriptors: readonly number[],
  names: string,
): StartedProgram {
  const env = { ...cleanEnv(), LISTEN_FDS: String(descriptors.length), LISTEN_FDNAMES: names };
  // The variable has the number of the process, which exec keeps.
  const script = ['LISTEN_PID=$$ exec "$0" "$@"', process.execPath, PROGRAM, ...args];
  return watch(spawn("/bin/sh", ["-c", ...script], { env, stdio: ["pipe", "pipe", "pipe", ...descriptors] }));
}

/** Starts the real program at a terminal of 100 columns, which `script` makes. */
export function startAtTerminal(args: readonly string[]): StartedProgram {
  const command = ["stty cols 100; exec", process.execPath, PROGRAM, ...args].join(" ");
  return watch(spawn("/usr/bin/script", ["-qec", command, "/dev/null"], { env: { ...cleanEnv(), SHELL: "/bin/sh" } }));
}

/** Runs the real program to its end. */
export async function runKserving(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return startKserving(args, env).ended();
}

function watch(child: ChildProcess): StartedProgram {
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
    });
  }
  const end = once(child, "close").then(([code, signal]) => ({ code, signal, ...text }) as Ended);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await end;
  });
  const output = (pattern: RegExp, stream: "stdout" | "stderr" = "stdout") =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(text[stream]);
        if (match !== null) resolve(match);
      };
      child[stream]?.on("data", look);
      look();
      end.then((how) => reject(new Error(`ended without ${pattern}: ${JSON.stringify(how)}`)), reject);
    });
  const event = async (msg: string) => JSON.parse((await output(new RegExp(`^\\{.*"msg":"${msg}".*\\}$`, "m")))[0]);
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    type: (keys) => child.stdin?.write(keys),
    endInput: () => child.stdin?.end(),
    stopReading: () => void child.stdout?.destroy(),
    event,
    output,
    ended: () => end,
  };
}

/** Writes a file that is gone after the test; returns its path. */
export async function writeTestFile(name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kserving-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Resolves with the first event of a log file that has this message. */
export async function loggedEvent(path: string, msg: string): Promise<LogEvent> {
  for (;;) {
    const lines = (await readFile(path, "utf8")).split("\n");
    const line = lines.slice(0, -1).find((text) => text.includes(`"msg":"${msg}"`));
    if (line !== undefined) return JSON.parse(line);
    // Watching the file instead would lose a change that comes while it is read.
    await setTimeout(20);
  }
}
