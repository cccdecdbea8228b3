import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { ServingError } from "../../errors.ts";
import { LOST_PROCESS } from "../../lost-process.ts";
import type { Logger } from "../../observability/logger.ts";
import { expectFirstSign, FIRST_SIGN_MS, silence } from "../../platform/async/first-sign.ts";
import { childStream, WatchedChild } from "../../platform/processes/watched-child.ts";
import type { AnswerCall } from "./answer-calls.ts";
import { Conversation, type PythonRequest, type PythonResponse } from "./conversation.ts";
import { SlotFile } from "./slot-file.ts";

/** The same from src/ and from dist/. */
const PROGRAM = fileURLToPath(new URL("../../../python", import.meta.url));
/** Maximum number of open requests with large tensors: one is answered while the next one is sent. */
export const SLOTS = 2;
const FRAMES_FD = 3;
/**
 * glibc's allocator comes to these values by itself if a program frees large blocks early on, and gives memory back
 * to the system after each layer otherwise: a conv net of 6 ms took 10 ms. Other allocators do not know them.
 */
const KEEP_MEMORY = { MALLOC_MMAP_THRESHOLD_: String(32 << 20), MALLOC_TRIM_THRESHOLD_: String(64 << 20) };
/** Milliseconds that a process may take to close its model. */
const CLOSE_MS = 5000;

/** Options of a process. */
export interface ProcessOptions {
  readonly python: string;
  /** Environment variables for the threads of numerical libraries; set unless they have a value. */
  readonly threads: number;
  /** Milliseconds that one request may take; 0 = no limit. Loading is not limited. */
  readonly timeoutMs: number;
  /** Milliseconds in which the interpreter has to begin. Default {@link FIRST_SIGN_MS}. */
  readonly firstSignMs?: number;
  readonly log: Logger;
  /** Answers the questions of the process, which has as many slots for them as there are for requests. */
  readonly onCall?: AnswerCall;
}

/** One Python process, which ends with this one, for any reason. Its output becomes log lines. */
export class PythonProcess {
  /** Resolves when it has ended, with the reason as a text that can follow "the process". */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #stream: Duplex;
  readonly #slots: readonly SlotFile[];
  readonly #conversation: Conversation;
  readonly #timeoutMs: number;
  readonly #watched: WatchedChild;
  #timer: NodeJS.Timeout | undefined;
  /** Time at which the oldest request became the one to be answered. */
  #since = 0;
  #isLimited = false;
  #isLate = false;

  private constructor(slots: readonly SlotFile[], options: ProcessOptions) {
    const { python, threads, timeoutMs, log, onCall, firstSignMs = FIRST_SIGN_MS } = options;
    this.#slots = slots;
    this.#timeoutMs = timeoutMs;
    const args = [
      "-u",
      "-X",
      "faulthandler",
      PROGRAM,
      ...[...slots.keys(), slots.length].map((index) => String(FRAMES_FD + index)),
    ];
    this.#child = spawn(python, args, {
      env: { OMP_NUM_THREADS: String(threads), ...KEEP_MEMORY, ...process.env },
      stdio: ["pipe", "pipe", "pipe", "pipe", ...slots.map(({ fd }) => fd)],
      windowsHide: true,
    });
    this.#stream = childStream(this.#child, FRAMES_FD);
    const onProgress = () => this.#restartTimer();
    this.#conversation = new Conversation(this.#stream, { slots, own: SLOTS }, { onProgress, onCall });
    this.#child.stdin?.on("error", () => {});
    let isSilent = false;
    const heard = expectFirstSign(() => {
      isSilent = true;
      this.kill();
    }, firstSignMs);
    this.#stream.once("data", heard);
    this.#watched = new WatchedChild(this.#child, {
      stream: this.#stream,
      log: log.child({ python: this.#child.pid }),
    });
    this.ended = this.#watched.ended.then((why) => {
      heard();
      return isSilent ? silence(firstSignMs) : why;
    });
    // Before anyone who waits for an answer learns of it, everyone who waits for the end has.
    void this.ended.then((why) => this.#settle(why));
  }

  /** Starts the interpreter; whether that works is seen with the first answer. */
  static async start(options: ProcessOptions): Promise<PythonProcess> {
    const count = options.onCall === undefined ? SLOTS : 2 * SLOTS;
    const slots: SlotFile[] = [];
    try {
      while (slots.length < count) slots.push(await SlotFile.create());
      return new PythonProcess(slots, options);
    } catch (reason) {
      await Promise.all(slots.map((slot) => slot.close()));
      throw reason;
    }
  }

  /** Requests that have no answer yet. */
  get pending(): number {
    return this.#conversation.pending;
  }

  /** False as soon as it has ended, which is a little before {@link ended} resolves. */
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Its last lines on standard error. */
  get lastWords(): string {
    return this.#watched.lastWords;
  }

  /**
   * Asks; rejects with `unavailable` when the process ends before it has answered,
   * `deadline_exceeded` when that was for taking too long.
   */
  ask(request: PythonRequest): Promise<PythonResponse> {
    return this.#conversation.ask(request);
  }

  /** Tells the process that a request of hooks has ended. */
  drop(context: number): void {
    this.#conversation.tell("drop", context);
  }

  /** From here on requests have a limited time: loading takes as long as it takes. */
  limitTime(): void {
    this.#isLimited = true;
  }

  /** Lets the model close, and waits for the process to end; one that does not is killed. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#child.stdin?.end();
    this.#stream.end();
    const kill = setTimeout(() => this.kill(), CLOSE_MS);
    await this.ended;
    clearTimeout(kill);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /**
   * The time restarts with each request that is next to be answered; a timer for each would cost more than the request.
   */
  #restartTimer(): void {
    this.#since = performance.now();
    if (!this.#isLimited || this.#timeoutMs === 0 || this.#conversation.pending === 0) return;
    this.#timer ??= setTimeout(() => this.#checkTime(), this.#timeoutMs);
  }

  #checkTime(): void {
    this.#timer = undefined;
    if (this.#conversation.pending === 0) return;
    const restMs = this.#since + this.#timeoutMs - performance.now();
    if (restMs > 0) {
      this.#timer = setTimeout(() => this.#checkTime(), restMs);
      return;
    }
    this.#isLate = true;
    this.kill();
  }

  #settle(why: string): void {
    clearTimeout(this.#timer);
    const facts = { cause: new Error(this.lastWords), details: [LOST_PROCESS] };
    const lost = new ServingError("unavailable", `The model's Python process ${why} before it answered.`, facts);
    const took = `The model did not answer within ${this.#timeoutMs / 1000} s (option timeout); its process is replaced.`;
    const late = new ServingError("deadline_exceeded", took, { details: [LOST_PROCESS] });
    this.#conversation.fail(this.#isLate ? late : lost, lost);
    for (const slot of this.#slots) slot.close().catch(() => {});
  }
}
