import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Duplex, Readable } from "node:stream";
import { reasonText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { passLines } from "../../observability/pass-lines.ts";

/**
 * Time in which the rest of the output is read after the end, in milliseconds;
 * processes that it has started may keep it open.
 */
const DRAIN_MS = 200;
/** Number of the last lines on standard error that are kept. */
const KEPT_LINES = 3;

/** The stream of messages, the log for the output, and an action at the end. */
interface WatchedChildOptions {
  readonly stream: Duplex;
  readonly log: Logger;
  /** Called when the process has ended, before the rest of its output is read. */
  readonly onExit?: () => void;
}

/** Logs the output of a child process, and waits for its end. */
export class WatchedChild {
  /** Resolves once it has ended and its output was read, with the reason in words that can follow "the process". */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #options: WatchedChildOptions;
  readonly #lastErrors: string[] = [];

  constructor(child: ChildProcess, options: WatchedChildOptions) {
    this.#child = child;
    this.#options = options;
    this.#logOutput(options.log);
    this.ended = this.#watch();
  }

  /** Its last lines on standard error. */
  get lastWords(): string {
    return this.#lastErrors.join(" | ");
  }

  #logOutput(log: Logger): void {
    const { stdout, stderr } = this.#child as { stdout: Readable; stderr: Readable };
    passLines(stdout, (line) => log.info(line));
    passLines(stderr, (line) => {
      this.#lastErrors.push(line);
      if (this.#lastErrors.length > KEPT_LINES) this.#lastErrors.shift();
      log.warn(line);
    });
  }

  async #watch(): Promise<string> {
    try {
      const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
      this.#options.onExit?.();
      await this.#drain();
      return describeEnd(code, signal);
    } catch (reason) {
      return `could not be started: ${reasonText(reason)}`;
    }
  }

  /** Answers and error lines that were written before the end still count. */
  async #drain(): Promise<void> {
    const open = [this.#options.stream, this.#child.stderr as Readable].filter(({ closed }) => !closed);
    const timer = setTimeout(() => {
      for (const stream of open) stream.destroy();
    }, DRAIN_MS);
    await Promise.all(open.map((stream) => once(stream, "close").catch(() => {})));
    clearTimeout(timer);
  }
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGKILL") return "was killed (SIGKILL), by hand or for want of memory";
  if (signal !== null) return `crashed (${signal})`;
  return `ended with exit code ${code}`;
}

/**
 * The stream to a child's descriptor that is a socket; throws `unavailable` if the system could not start the child,
 * for example because the server has no descriptors left: then it has no streams, and its error is an event that comes
 * later.
 */
export function childStream(child: ChildProcess, descriptor: number): Duplex {
  const stream = (child.stdio as ChildProcess["stdio"] | undefined)?.[descriptor];
  if (stream !== null && stream !== undefined) return stream as Duplex;
  child.on("error", () => {});
  throw new ServingError("unavailable", "A process could not be started; does the server have too many open files?");
}

/**
 * Memory of a process, including its share of shared memory, or all of that if the process is hidden from this one;
 * undefined if the system does not report it, which is everywhere but on Linux.
 */
export async function processMemory(pid: number | undefined): Promise<number | undefined> {
  const text = await read(pid, "smaps_rollup").catch(() => read(pid, "status").catch(() => ""));
  const kilobytes = /^(?:Pss|VmRSS):\s+(\d+) kB$/m.exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function read(pid: number | undefined, name: string): Promise<string> {
  return readFile(`/proc/${pid}/${name}`, "utf8");
}
