import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onLines } from "../../drivers/python/log-lines.ts";
import { reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { threadEntry } from "../../threads/thread-entry.ts";
import { childEnvironment } from "./child-environment.ts";
import { describeEnd } from "./process-end.ts";
import { createSharedFiles } from "./shared-files.ts";

/** Descriptors of a child begin so: nothing to read, two streams for people, the socket, the memory files. */
const STREAMS = ["ignore", "pipe", "pipe", "pipe"] as const;
const SOCKET_FD = 3;
/** Milliseconds within which the rest of what it wrote is read once the process has ended; what it has started may hold the streams open. */
const DRAIN_MS = 200;
/** Last lines of its errors that are told of a process that ended. */
const KEPT_LINES = 3;

/** A child process for a model, with the streams to it. It is in a group of its own, so that what ends the server's lets it be. */
export class SpawnedProcess {
  readonly stream: Duplex;
  /** Descriptors of the memory files, that of what goes to the child first; none where there are none. */
  readonly ringFds: readonly number[];
  /** Resolves when it has ended, with why, in words that can follow "the process". */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #lastErrors: string[] = [];
  #killed: string | undefined;

  /** `environment`: variables that are set for it where the server's own have no value. */
  constructor(environment: Readonly<Record<string, string>>, log: Logger) {
    const files = createSharedFiles();
    this.ringFds = files?.fds ?? [];
    const entry = fileURLToPath(threadEntry("model-host/processes/model-process-entry"));
    // A child numbers its descriptors anew.
    const numbers = this.ringFds.map((_, index) => String(SOCKET_FD + 1 + index));
    this.#child = spawn(process.execPath, [entry, ...numbers], {
      env: childEnvironment(process.env, environment),
      stdio: [...STREAMS, ...this.ringFds],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.stream = this.#child.stdio[SOCKET_FD] as Duplex;
    this.#logOutput(log.child({ process: this.#child.pid }));
    this.ended = this.#watch();
    void this.ended.then(() => files?.close());
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Its last lines on standard error. */
  get lastWords(): string {
    return this.#lastErrors.join(" | ");
  }

  /** Ends it at once, with all that it has started; `why` is what {@link ended} tells. */
  kill(why: string): void {
    this.#killed ??= why;
    this.#killGroup();
  }

  #killGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {}
  }

  #logOutput(log: Logger): void {
    const { stdout, stderr } = this.#child as { stdout: Readable; stderr: Readable };
    onLines(stdout, (line) => log.info(line));
    onLines(stderr, (line) => {
      this.#lastErrors.push(line);
      if (this.#lastErrors.length > KEPT_LINES) this.#lastErrors.shift();
      log.warn(line);
    });
  }

  async #watch(): Promise<string> {
    try {
      const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
      this.#killGroup();
      await this.#drain();
      return this.#killed ?? describeEnd(code, signal);
    } catch (reason) {
      return `could not be started: ${reasonText(reason)}`;
    }
  }

  /** An answer that was written before the end is still an answer, and last words are words. */
  async #drain(): Promise<void> {
    const open = [this.stream, this.#child.stderr as Readable].filter(({ closed }) => !closed);
    const timer = setTimeout(() => {
      for (const stream of open) stream.destroy();
    }, DRAIN_MS);
    await Promise.all(open.map((stream) => once(stream, "close").catch(() => {})));
    clearTimeout(timer);
  }
}
