import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { watchChild } from "../../test/helpers/children.ts";
import type { AttackRow, ServerKind, Target } from "./attack-row.ts";
import type { Configuration } from "./configuration.ts";
import { argumentsOf, authorizationOf, fromRoot, SECRETS } from "./server-arguments.ts";

const SAMPLE_MS = 20;
/** Above it the server is killed, for the machine's sake: far beyond what any row may take. */
const KILL_ABOVE_MB = 3000;
const END_WITHIN_MS = 10_000;
const KB_PER_MB = 1024;
/** Memory that a server may keep of one attack to be there for the next. */
const KEPT_MB = 500;
/** Written to `clear_refs`, it has a process forget its peak (proc(5)). */
const FORGET_PEAK = "5";

/** The real program, started for one row. */
export class AttackedServer {
  readonly target: Target;
  readonly #child: ChildProcess;
  readonly #watch: NodeJS.Timeout;
  readonly #folder: string;
  readonly #behind: AttackedServer | undefined;
  #peakMb = 0;
  #end: string | undefined;

  private constructor(child: ChildProcess, addresses: Omit<Target, "pid">, folder: string, behind?: AttackedServer) {
    this.#child = child;
    this.#behind = behind;
    this.#folder = folder;
    this.target = { ...addresses, pid: child.pid as number };
    this.#watch = setInterval(() => this.#sample(), SAMPLE_MS);
    child.once("exit", (code, signal) => {
      this.#end ??= `the server ended by itself: ${signal ?? `code ${code}`}`;
    });
  }

  /** Starts the program on free ports of the loopback interface, and waits until it is ready. */
  static async start(
    { server: kind }: Pick<AttackRow, "server">,
    configuration: Configuration,
  ): Promise<AttackedServer> {
    const behind = kind === "proxy" ? await AttackedServer.start({ server: "null" }, configuration) : undefined;
    const folder = mkdtempSync(join(tmpdir(), "kserving-attack-"));
    const own = await argumentsOf({ kind, configuration, folder, ...(behind && { behind: behind.target.grpc }) });
    // A death is to be seen, but where it is the attack.
    const [program, ...args] = [
      fromRoot("bin/kserving.cjs"),
      ...own,
      ...(kind === "mortal" || kind === "proxy" ? [] : ["--no-supervisor"]),
    ];
    const child = watchChild(startProgram(kind, [program, ...args]));
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line);
      if (event.msg !== "ready") continue;
      child.stdout.resume();
      const grpc = configuration.isEncrypted ? `grpcs://${event.grpc}` : event.grpc;
      const addresses = { grpc: behind?.target.grpc ?? grpc, http: event.http, authorization: authorizationOf(kind) };
      return new AttackedServer(child, addresses, folder, behind);
    }
    throw new Error(`the server did not start with ${args.join(" ")}`);
  }

  /** Megabytes of memory that it had at most; more only where the kernel tells no peak. */
  get peakMb(): number {
    this.#sample();
    return this.#peakMb;
  }

  /** The reason why it is no longer there; undefined while it is. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Lets its peak be that of what comes; false where it should end instead, since its memory is not as it was. */
  forgetPeak(): boolean {
    if (this.#end !== undefined) return false;
    try {
      writeFileSync(`/proc/${this.target.pid}/clear_refs`, FORGET_PEAK);
    } catch {
      return false;
    }
    this.#peakMb = 0;
    return this.peakMb < KEPT_MB;
  }

  /** Asks it to end, and kills it where it does not; resolves to what was wrong with that, if anything. */
  async stop(): Promise<string | undefined> {
    clearInterval(this.#watch);
    const problem = await this.#exit();
    rmSync(this.#folder, { recursive: true });
    return (await this.#behind?.stop()) ?? problem;
  }

  async #exit(): Promise<string | undefined> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#end;
    this.#end = "stopped";
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGINT");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), END_WITHIN_MS);
    const [code] = await exited;
    clearTimeout(killer);
    return code === 0 ? undefined : `SIGINT did not end it within ${END_WITHIN_MS / 1000} s`;
  }

  /** Kills it. */
  kill(reason: string): void {
    this.#end ??= reason;
    this.#child.kill("SIGKILL");
  }

  #sample(): void {
    try {
      const peakKb = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.target.pid}/status`, "utf8"))?.[1]);
      if (peakKb > 0) this.#peakMb = Math.max(this.#peakMb, peakKb / KB_PER_MB);
    } catch {
      return;
    }
    if (this.#peakMb > KILL_ABOVE_MB) this.kill(`killed above ${KILL_ABOVE_MB} MB`);
  }
}

/** Descriptors of a server with few. */
const FEW = 1024;

function startProgram(kind: ServerKind, words: readonly string[]) {
  const env = kind === "spied" ? { ...process.env, ...SECRETS } : process.env;
  const [file, ...args] = [
    ...(kind === "few-descriptors" ? ["prlimit", `--nofile=${FEW}`] : []),
    process.execPath,
    ...words,
  ];
  return spawn(file as string, args, { env, stdio: ["ignore", "pipe", "ignore"] });
}
