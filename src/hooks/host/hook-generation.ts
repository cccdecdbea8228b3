import { reasonText, type ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ThreadStates } from "../../observability/thread-states.ts";
import { type HookTimes, sumHookTimes } from "../../pipeline/hook-times.ts";
import type { WarmedThread } from "../../pipeline/runner.ts";
import { Backoff } from "../../platform/async/backoff.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import type { CompiledModule } from "../../platform/user-module/user-module.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { HookDeclaration } from "./hook-protocol.ts";
import { type HookThreadOptions, HookWorker, type WorkerStart } from "./hook-worker.ts";

/**
 * Maximum number of started requests per thread, without answers in parts that have begun; more of them wait if another
 * thread can take them.
 */
const MAX_STARTED = 32;
/** Further requests, of kinds of which a thread runs few: those that wait for a slow model must not hold up others. */
const EXTRA = { started: 8, fewOfKind: 4 } as const;
/** Time that answers in parts, which may go on for ever, have to end in hooks that were replaced, in milliseconds. */
const RETIRE_MS = 25_000;
/** Delays of a new start of a thread that failed to start. */
const START_BACKOFF = { firstMs: 20, maxMs: 10_000 };
/**
 * Delays of the replacement of a dead thread, longer after each one that died before its first answer; short, since the
 * requests that it did not start wait for the replacement.
 */
const CRASH_BACKOFF = { firstMs: 20, maxMs: 250 };

/** Settings of hook threads, the same for every generation. */
export type HookThreadChoices = Omit<HookThreadOptions, "url">;

/**
 * Reserves the names of a hook file's functions that get bytes; throws if they are
 * taken; returns how to give them back.
 */
export type ClaimEntries = (entries: readonly string[]) => () => void;

/** Log and claims of generations. */
export interface GenerationServices {
  readonly log: Logger;
  readonly claim?: ClaimEntries | undefined;
}

/** Settings and services with which a generation starts its threads. */
export interface HookStart extends WorkerStart {
  readonly workers: number;
  /** Runs requests in a thread before it takes others. */
  readonly warmUp: (thread: WarmedThread) => Promise<void>;
  /** Called when a thread becomes able to take requests. */
  readonly onReady: () => void;
}

/** Parts of a generation. */
export interface GenerationParts {
  readonly compiled: CompiledModule;
  readonly options: HookThreadOptions;
  readonly log: Logger;
  /** A thread that has imported the hooks and knows their declarations. */
  readonly first: HookWorker;
  readonly declared: HookDeclaration;
  /** Gives back the names that it has claimed. */
  readonly release?: (() => void) | undefined;
}

/**
 * One compilation of a hook file, and the threads that run it. Dead threads are replaced by new ones with the same
 * hooks, until the generation ends.
 */
export class HookGeneration {
  readonly #parts: GenerationParts;
  /** Every thread that runs, or whose hooks still lease models. */
  readonly #threads = new Set<HookWorker>();
  /** The threads that can take requests. */
  readonly #ready = new Set<HookWorker>();
  readonly #replacements = new ThreadReplacements();
  #signatures: Readonly<Record<string, Signature>> = {};
  #isOver = false;
  #lostCount = 0;
  /** Times of the hooks in ended threads. */
  #pastTimes: readonly HookTimes[] = [];
  #wanted = 0;

  constructor(parts: GenerationParts) {
    this.#parts = parts;
    this.#keep(parts.first);
  }

  /** Declarations of the hook file. */
  get declared(): HookDeclaration {
    return this.#parts.declared;
  }

  /** The files of the hooks; a change in one calls for a new generation. */
  get sources(): readonly string[] {
    return this.#parts.declared.sources ?? this.#parts.compiled.sources;
  }

  /** Inputs and outputs of the pipeline, known once it has started. */
  get signatures(): Readonly<Record<string, Signature>> {
    return this.#signatures;
  }

  /** True while any thread can answer. */
  isReady(): boolean {
    return [...this.#ready].some((worker) => worker.isOpen);
  }

  /** Counts of its threads, including starting and lost ones. */
  get threads(): ThreadStates {
    const ready = [...this.#ready].filter((worker) => worker.isOpen).length;
    const pids = [...this.#threads].flatMap(({ pid }) => pid ?? []);
    return { ready, missing: Math.max(0, this.#wanted - ready), lost: this.#lostCount, pids };
  }

  /** Times of the hooks in all its threads until now. */
  hookTimes(): readonly HookTimes[] {
    return sumHookTimes([...this.#pastTimes, ...[...this.#threads].flatMap((worker) => worker.hookTimes())]);
  }

  /** The thread for a warm-up request with this number. */
  at(number: number): HookWorker | undefined {
    const ready = [...this.#ready].filter((worker) => worker.isOpen && worker.busy < MAX_STARTED);
    return ready[number % ready.length];
  }

  /** The thread with the fewest requests that can start one more, if any. */
  freest(): HookWorker | undefined {
    return this.#freest(MAX_STARTED);
  }

  /** The same for a request of a kind, if no thread can start one of any kind. */
  freestFor(kind: string): HookWorker | undefined {
    return this.#freest(MAX_STARTED + EXTRA.started, (worker) => worker.hasFewer(kind, EXTRA.fewOfKind));
  }

  #freest(maxStarted: number, mayTake?: (worker: HookWorker) => boolean): HookWorker | undefined {
    let best: HookWorker | undefined;
    for (const worker of this.#ready) {
      const hasPlace = worker.isOpen && worker.busy < maxStarted;
      const isFreer = best === undefined || worker.inFlight < best.inFlight;
      if (hasPlace && isFreer && mayTake?.(worker) !== false) best = worker;
    }
    return best;
  }

  /**
   * Resolves once all threads can take requests; throws init_hook's error. A generation that did not start has to be
   * disposed.
   */
  async start(start: HookStart): Promise<void> {
    this.#wanted = start.workers;
    const others = Array.from({ length: start.workers - 1 }, () => this.#spawn());
    const enlist = (worker: HookWorker) => this.#enlist(worker, start, start.warmUp);
    await Promise.all([this.#parts.first, ...others].map(enlist));
  }

  /**
   * Lets the threads finish the started requests, then run close_hook and end; answers in parts that go on for long
   * fail.
   */
  async retire(): Promise<void> {
    await this.#end(async (worker) => {
      const idle = worker.idle();
      if (!(await settlesWithin(idle, RETIRE_MS))) worker.endStreams();
      await idle;
      await worker.close();
    });
  }

  /** Lets the threads run close_hook and end; unanswered requests fail. */
  async close(): Promise<void> {
    await this.#end((worker) => worker.close());
  }

  /** Terminates the threads. */
  async dispose(): Promise<void> {
    await this.#end((worker) => worker.terminate());
  }

  /** Resolves once the threads have ended and their hooks' models are returned. */
  async returned(): Promise<void> {
    await Promise.all([...this.#threads].map((worker) => worker.returned));
  }

  /** A thread that has not started has no requests, and does not receive the command to close. */
  async #end(endReady: (worker: HookWorker) => Promise<void>): Promise<void> {
    this.#isOver = true;
    this.#parts.release?.();
    this.#replacements.stop();
    const end = (worker: HookWorker) => (this.#ready.has(worker) ? endReady(worker) : worker.terminate());
    await Promise.all([...this.#threads].map(end));
    await this.#parts.compiled.dispose();
  }

  #spawn(): HookWorker {
    return this.#keep(new HookWorker(this.#parts.options, this.#parts.log));
  }

  #keep(worker: HookWorker): HookWorker {
    this.#threads.add(worker);
    void worker.returned.then(() => {
      this.#pastTimes = sumHookTimes([...this.#pastTimes, ...worker.hookTimes()]);
      this.#threads.delete(worker);
    });
    return worker;
  }

  async #enlist(worker: HookWorker, start: HookStart, warmUp: HookStart["warmUp"]): Promise<void> {
    await worker.declared;
    const signatures = await worker.start(start);
    this.#signatures = signatures;
    await warmUp({ signatures, run: (request) => worker.run(request) });
    if (this.#isOver) return;
    this.#ready.add(worker);
    void worker.ended.then((reason) => this.#lost(worker, start, reason));
    worker.onFreed(start.onReady);
    start.onReady();
  }

  #lost(worker: HookWorker, start: HookStart, reason: ServingError | undefined): void {
    this.#ready.delete(worker);
    if (this.#isOver || reason === undefined) return;
    this.#lostCount++;
    this.#parts.log.error(`a hook thread ended and is replaced: ${reason.message}`, {
      requestIds: worker.lostRequestIds,
      err: reason.cause ?? reason,
    });
    this.#replacements.afterCrash(worker.hasAnswered, () => void this.#replace(start));
  }

  async #replace(start: HookStart): Promise<void> {
    let worker: HookWorker | undefined;
    // The hooks are known to work, and waiting requests need a thread.
    const warmUp = (thread: WarmedThread) =>
      start.warmUp(thread).catch((err) => {
        this.#parts.log.warn(`a hook thread was not warmed up: ${reasonText(err)}`, { err });
      });
    try {
      worker = this.#spawn();
      await this.#enlist(worker, start, warmUp);
      this.#replacements.started();
    } catch (reason) {
      if (this.#isOver) return;
      this.#parts.log.error(`a hook thread could not be started: ${reasonText(reason)}`, { err: reason });
      this.#replacements.afterFailedStart(() => void this.#replace(start));
      await worker?.terminate();
    }
  }
}

/** Schedules the replacements of a generation's threads. */
class ThreadReplacements {
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #startBackoff = new Backoff(START_BACKOFF);
  readonly #crashBackoff = new Backoff(CRASH_BACKOFF);

  /** Replaces a thread that has died; `hasAnswered` = it had answered a request. */
  afterCrash(hasAnswered: boolean, replace: () => void): void {
    if (hasAnswered) this.#crashBackoff.reset();
    this.#schedule(replace, this.#crashBackoff);
  }

  /** Replaces a thread that has not started. */
  afterFailedStart(replace: () => void): void {
    this.#schedule(replace, this.#startBackoff);
  }

  /** A replacement has started. */
  started(): void {
    this.#startBackoff.reset();
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #schedule(replace: () => void, backoff: Backoff): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      replace();
    }, backoff.next());
    this.#timers.add(timer);
  }
}
