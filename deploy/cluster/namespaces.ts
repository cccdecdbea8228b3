import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type ProgramOptions, runProgram } from "./run-program.ts";
import { waitUntil } from "./wait-until.ts";

/** Namespaces for a cluster: processes, mounts and a network of their own. All of it ends with this process. */
export class Namespaces {
  readonly #holder: ChildProcess;
  /** Process 1 in there, by its number out here. */
  readonly #pid: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(holder: ChildProcess, pid: string, env: NodeJS.ProcessEnv) {
    this.#holder = holder;
    this.#pid = pid;
    this.#env = env;
  }

  /** Needs root. Programs in there get `env` beside the environment. */
  static async open(env: NodeJS.ProcessEnv): Promise<Namespaces> {
    const kinds = ["--mount", "--propagation=private", "--net", "--pid", "--fork", "--mount-proc", "--uts", "--ipc"];
    const script = join(import.meta.dirname, "node.sh");
    const holder = spawn("unshare", [...kinds, "--kill-child", "bash", script], { stdio: ["pipe", "pipe", "inherit"] });
    for await (const line of createInterface({ input: holder.stdout })) {
      if (line !== "ready") continue;
      const pid = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").trim();
      return new Namespaces(holder, pid, env);
    }
    throw new Error("no namespaces: see above; they need root");
  }

  /** Command line that runs a program in there. */
  #inside(command: readonly string[]): readonly string[] {
    const kinds = ["--mount", "--net", "--pid", "--uts", "--ipc"];
    return ["nsenter", `--target=${this.#pid}`, ...kinds, `--wd=${process.cwd()}`, "--", ...command];
  }

  /** Runs a program in there to its end: {@link runProgram}. */
  run(command: readonly string[], options: ProgramOptions = {}): Promise<string> {
    return runProgram(this.#inside(command), { ...options, env: { ...this.#env, ...options.env } });
  }

  /** Starts a program in there whose input and output are pipes. */
  start(command: readonly string[]): ChildProcess {
    const [program, ...args] = this.#inside(command) as [string];
    return spawn(program, args, { env: { ...process.env, ...this.#env }, stdio: ["pipe", "pipe", "inherit"] });
  }

  /** Starts a program in there as often as it ends, with a file for what it prints. */
  keep(command: readonly string[], log: string): void {
    const again = 'while :; do "$@"; echo "ended with $?"; sleep 1; done';
    const [program, ...args] = this.#inside(["sh", "-c", again, "sh", ...command]) as [string];
    const file = openSync(log, "w");
    spawn(program, args, { env: { ...process.env, ...this.#env }, stdio: ["ignore", file, file] }).unref();
  }

  /** Ends process 1, and everything with it. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#holder;
    const ended = exitCode === null && signalCode === null ? once(this.#holder, "close") : undefined;
    this.#holder.kill("SIGKILL");
    await ended;
    await waitUntil("the namespaces are gone", async () => !existsSync(`/proc/${this.#pid}`), 30);
  }
}
