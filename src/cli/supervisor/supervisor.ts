import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { unlinkSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Duplex } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { expectFirstSign, FIRST_SIGN_MS, silence } from "../../platform/async/first-sign.ts";
import { hasCapability, READING } from "../../platform/machine/system.ts";
import type { ListeningSocket } from "../../platform/net/node-members.ts";
import { RunMarks, STATE } from "../../platform/processes/run-marks.ts";
import type { StartSecrets } from "./secrets.ts";
import {
  ASKING_SIGNALS,
  type AskingSignal,
  type ProcessDeath,
  SUPERVISED_VARIABLE,
  type SupervisedInfo,
  type SupervisedMessage,
} from "./supervised-info.ts";

/** Deaths within {@link DEATHS_MS} after which the supervisor gives up, as one that cannot help. */
const MOST_DEATHS = 20;
/** The same of deaths for which no model can be blamed. */
const MOST_UNEXPLAINED = 5;
const DEATHS_MS = 60_000;
/** Milliseconds in which the messages of a process that has ended are read, at most. */
const LAST_MESSAGES_MS = 50;
/** Names of models that a new process is told. */
const TOLD_MODELS = 10;
/** The first descriptor that systemd passes (SD_LISTEN_FDS_START); the child has it there too. */
const FIRST_PASSED_FD = 3;
/** Signals by which a process is ended from outside; one that dies by them did not crash. */
const ENDING_SIGNALS: readonly (NodeJS.Signals | null)[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2", "SIGPIPE"];

/**
 * Has glibc's threads share as many heaps as there are cores, Node's own too: each of them may have one by the time at
 * which the program itself can say so (`keepLessFree`).
 */
const FEW_HEAPS = { MALLOC_ARENA_MAX: String(availableParallelism()) };

interface HeldSocket {
  readonly title: string;
  readonly socket: ListeningSocket;
}

/** The environment of the program, and a place for facts that outlive the supervisor. */
interface SuperviseOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Path of the file of marks; undefined = it ends with the supervisor. */
  readonly marksPath: string | undefined;
  /** The program's words and variables, if any is a secret; they are neither among `program` nor in `env`. */
  readonly secrets: StartSecrets | undefined;
  /** Milliseconds in which the child has to say that it has begun. Default {@link FIRST_SIGN_MS}. */
  readonly firstSignMs?: number;
}

/** The end of the process that serves. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs the program in a child process, and again when it dies of something that it did not decide: a native library's
 * crash, or the system's want of memory. It keeps the listening sockets meanwhile, so that clients wait and are not
 * refused. Resolves with the program's exit code; ends by its signal if it did.
 */
export function supervise(program: readonly string[], options: SuperviseOptions): Promise<number> {
  return new Supervisor(program, options).run();
}

class Supervisor {
  readonly #program: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #secrets: StartSecrets | undefined;
  readonly #firstSignMs: number;
  readonly #marks: RunMarks | undefined;
  readonly #passed: readonly number[];
  #sockets: HeldSocket[] = [];
  #child: ChildProcess | undefined;
  /** The last signal that was passed on. */
  #asked: AskingSignal | undefined;
  /** Also if that is not known. */
  #hasServed = false;
  readonly #deaths: { readonly at: number; readonly isExplained: boolean }[] = [];
  #count = 0;
  /** Groups of processes that belong to the program and would outlive it. */
  #owned: readonly number[] = [];

  constructor(program: readonly string[], { env, marksPath, secrets, firstSignMs = FIRST_SIGN_MS }: SuperviseOptions) {
    this.#firstSignMs = firstSignMs;
    this.#program = program;
    this.#env = env;
    this.#secrets = secrets;
    this.#marks = openMarks(marksPath);
    const passed = Number(env.LISTEN_PID === String(process.pid) ? env.LISTEN_FDS : 0) || 0;
    this.#passed = Array.from({ length: passed }, (_, index) => FIRST_PASSED_FD + index);
  }

  async run(): Promise<number> {
    for (const signal of ASKING_SIGNALS) process.on(signal, () => this.#pass(signal));
    // Node's own, by which a debugger is started.
    process.on("SIGUSR1", () => void this.#child?.kill("SIGUSR1"));
    // A right of root that no child is to inherit; else there is time while the child starts.
    if (hasCapability(...READING)) await hide();
    else setImmediate(hide);
    let death: ProcessDeath | undefined;
    for (;;) {
      const end = await this.#serve(death);
      if (!this.#isDeath(end)) return this.#finish(end);
      this.#endOwned();
      death = this.#toDeath(end);
      // A library may have ended the process with 0, by C's exit().
      if (this.#isHopeless(death)) return this.#finish(end) || 1;
    }
  }

  /** To the next child too, if this one dies without having heeded it. */
  #pass(signal: AskingSignal): void {
    this.#asked = signal;
    if (this.#child?.connected) this.#child.send({ signal }, () => {});
  }

  /** Resolves when the child has ended. */
  async #serve(death: ProcessDeath | undefined): Promise<End> {
    if (this.#marks !== undefined) this.#marks.state = STATE.starting;
    const sockets = this.#sockets.map(({ socket }) => socket.fd);
    const info = this.#infoFor(death);
    const own = [...this.#passed, "ipc" as const, this.#marks?.fd ?? ("ignore" as const), ...sockets];
    const child = spawn(process.execPath, [...process.execArgv, ...this.#program], {
      stdio: ["inherit", "inherit", "inherit", ...own, this.#secrets === undefined ? "ignore" : "pipe"],
      env: { ...FEW_HEAPS, ...this.#env, [SUPERVISED_VARIABLE]: JSON.stringify(info) },
    });
    this.#child = child;
    if (info.secrets !== undefined) send(child.stdio[info.secrets] as Duplex | undefined, this.#secrets);
    if (isEnding(this.#asked)) this.#pass(this.#asked);
    child.on("message", (message: SupervisedMessage, handle) => this.#receive(message, handle as unknown));
    const heard = this.#expectSign(child);
    const end = await new Promise<End>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve({ code, signal }));
    }).finally(heard);
    // Its last messages may still be there to be read.
    if (child.connected) await Promise.race([once(child, "disconnect"), setTimeout(LAST_MESSAGES_MS)]);
    return end;
  }

  #expectSign(child: ChildProcess): () => void {
    const heard = expectFirstSign(() => {
      process.stderr.write(`kserving: the server's process ${silence(this.#firstSignMs)}\n`);
      child.kill("SIGKILL");
    }, this.#firstSignMs);
    child.once("message", heard);
    return heard;
  }

  #infoFor(death: ProcessDeath | undefined): SupervisedInfo {
    const marks = FIRST_PASSED_FD + this.#passed.length + 1;
    return {
      ...(this.#marks !== undefined && { marks }),
      sockets: this.#sockets.map(({ title }, index) => [title, marks + 1 + index]),
      ...(this.#secrets !== undefined && { secrets: marks + 1 + this.#sockets.length }),
      deaths: this.#count,
      ...(death !== undefined && { death }),
    };
  }

  #receive(message: SupervisedMessage, handle: unknown): void {
    if ("begun" in message) return;
    if ("listening" in message) this.#sockets.push({ title: message.listening, socket: handle as ListeningSocket });
    else if ("released" in message) this.#release();
    else if ("owned" in message) this.#owned = message.owned;
    else void notify(message.path, message.notify);
  }

  #endOwned(): void {
    for (const pid of this.#owned) {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {}
    }
    this.#owned = [];
  }

  /** Lets the system refuse connections, once the program takes none. */
  #release(): void {
    for (const { socket } of this.#sockets.splice(0)) socket.close();
  }

  /** An end that the program has said is its own, or that was asked for, is none. */
  #isDeath({ code, signal }: End): boolean {
    if (ENDING_SIGNALS.includes(signal)) return false;
    return this.#marks === undefined ? code === null : this.#marks.state !== STATE.ending;
  }

  #toDeath({ code, signal }: End): ProcessDeath {
    const state = this.#marks?.state ?? STATE.serving;
    if (state !== STATE.starting) this.#hasServed = true;
    const blamed = state === STATE.failed ? [] : (this.#marks?.blame() ?? []);
    this.#deaths.push({ at: performance.now(), isExplained: blamed.length > 0 });
    this.#count++;
    return { how: signal ?? `exit code ${code}`, models: blamed.slice(0, TOLD_MODELS).map(({ name }) => name) };
  }

  /** One that never served, and dies of nothing that could be kept apart, dies again. */
  #isHopeless({ models }: ProcessDeath): boolean {
    if (!this.#hasServed && models.length === 0) return true;
    const recent = this.#deaths.filter(({ at }) => performance.now() - at < DEATHS_MS);
    this.#deaths.splice(0, this.#deaths.length, ...recent);
    const unexplained = recent.filter(({ isExplained }) => !isExplained).length;
    return recent.length >= MOST_DEATHS || unexplained >= MOST_UNEXPLAINED;
  }

  #finish({ code, signal }: End): number {
    for (const { title } of this.#sockets) removeSocketFile(title);
    this.#release();
    if (code !== null) return code;
    endBy(signal ?? "SIGKILL");
  }
}

function isEnding(signal: AskingSignal | undefined): signal is "SIGINT" | "SIGTERM" {
  return signal === "SIGINT" || signal === "SIGTERM";
}

/** A child that could not be started has no streams; one that has ended at once does not read. */
function send(pipe: Duplex | undefined, secrets: StartSecrets | undefined): void {
  pipe?.on("error", () => {}).end(JSON.stringify(secrets));
}

/** Has the system refuse this process's memory, which has the secrets, to others, as far as it can. */
async function hide(): Promise<void> {
  try {
    (await import("../../platform/native/process-control.ts")).hideProcess();
  } catch {}
}

/** Without a file, on a file system that is full or read-only, a death is survived, but its cause is not known. */
function openMarks(path: string | undefined): RunMarks | undefined {
  try {
    return RunMarks.open(path);
  } catch (reason) {
    if (path === undefined) return undefined;
    process.stderr.write(`kserving: --crash-marks cannot be used: ${(reason as Error).message}\n`);
    return openMarks(undefined);
  }
}

/** Ends as the program did: the shell sees 128 + the signal's number, and may say so. */
function endBy(signal: NodeJS.Signals): never {
  for (const each of ASKING_SIGNALS) process.removeAllListeners(each);
  process.kill(process.pid, signal);
  // Only the first process of a container lives to see this line: the kernel shields it from its own signals.
  process.abort();
}

/** A dead process has not removed the file of its Unix socket. */
function removeSocketFile(title: string): void {
  try {
    if (title.startsWith("unix:")) unlinkSync(title.slice("unix:".length));
  } catch {}
}

let datagrams: Promise<(text: string) => void> | undefined;

/** Passes on what the program says of its state: systemd listens to its own child alone. */
async function notify(path: string, text: string): Promise<void> {
  try {
    datagrams ??= import("../../platform/native/send-datagram.ts").then(({ openDatagrams }) => openDatagrams(path));
    (await datagrams)(text);
  } catch {}
}
