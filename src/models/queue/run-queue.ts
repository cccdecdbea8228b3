import { toSteadyMs } from "../../observability/steady-clock.ts";
import { HeldPlaces, type PlaceHolder } from "../../platform/limits/held-places.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import type { ModelTurns } from "../threads/thread-turns.ts";
import { ClientTurns, clientOf } from "./client-turns.ts";
import { QueuedRun } from "./queued-run.ts";
import { type CountedRun, RunCounter, type RunStatistics } from "./run-statistics.ts";

/** Takes the next runs off a queue and runs them together; without batching, one at a time. */
export interface RunPolicy {
  /** Removes at least one run from `waiting`, in their order, and returns what goes together. */
  take(waiting: QueuedRun[]): QueuedRun[];
  /**
   * Milliseconds for which the next runs still wait for more to go with them; 0 if a batch's rows wait, the oldest
   * run has waited long enough, or none waits.
   */
  lingerMs(waiting: readonly QueuedRun[]): number;
  /** Rows that a predict counts for; 1 without batching. */
  rowsOf(inputs: Tensors): number;
  /** Length of a predict's longest row; absent = that does not matter. */
  lengthOf?(inputs: Tensors, call: ModelCall): number;
  /** Throws `unavailable` if so many rows do not fit behind those that wait; absent = there is no limit. */
  assertRoom?(waitingRows: number, rows: number): void;
  /** Runs the taken requests, and settles each; calls back after each run of the model. */
  run(taken: readonly QueuedRun[], onRan: RanListener): Promise<void>;
  /**
   * Runs a predict at once, if nothing waits. Absent if several may go together: those wait for the rest of this
   * turn of the event loop.
   */
  readonly runAlone?: (inputs: Tensors, call: ModelCall) => Promise<Tensors>;
}

/** Counts a run of the model. */
export type RanListener = (run: CountedRun) => void;

/** Milliseconds for which runs follow one another without a turn of the event loop, which costs some microseconds. */
const TURN_MS = 1;

/**
 * Queue of a model's predicts: clients take turns by rows, and each client's go by priority, then in the order they
 * came. A run that waits leaves when its signal aborts.
 */
export class RunQueue {
  readonly #policy: RunPolicy;
  readonly #concurrency: number;
  readonly #turns: ModelTurns | undefined;
  readonly #waiting: QueuedRun[] = [];
  readonly #clients = new ClientTurns<QueuedRun>();
  readonly #streams = new HeldPlaces(() => this.#waiting.map(clientOf));
  readonly #counter = new RunCounter();
  readonly #idleListeners: (() => void)[] = [];
  #running = 0;
  #waitingRows = 0;
  #turnedAt = 0;
  #lingering: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Immediate | undefined;

  /** `turns`: those of a model that shares its thread; absent = it has its own. */
  constructor(policy: RunPolicy, concurrency: number, turns?: ModelTurns) {
    this.#policy = policy;
    this.#concurrency = concurrency;
    this.#turns = turns;
  }

  /**
   * Runs a predict when its turn comes; rejects with the signal's reason when that
   * aborts first, with `unavailable` in a full queue.
   */
  push(inputs: Tensors, call: ModelCall): Promise<Tensors> {
    const { signal } = call;
    if (signal.aborted) return Promise.reject(signal.reason);
    const since = performance.now();
    if (this.#isFree && !this.#gathers) return this.#runAlone(inputs, call, since);
    return new Promise((resolve, reject) => {
      const rows = this.#policy.rowsOf(inputs);
      const length = this.#policy.lengthOf?.(inputs, call) ?? 0;
      this.#policy.assertRoom?.(this.#waitingRows, rows);
      this.#waitingRows += rows;
      const run = new QueuedRun({ inputs, call, since, rows, length }, { resolve, reject });
      run.onLeave((reason) => this.#leave(run, reason));
      this.#clients.insert(this.#waiting, run);
      this.#streams.watch();
      this.#pumpSoon();
    });
  }

  /** Times and counts of the runs until now. */
  statistics(): RunStatistics {
    return this.#counter.statistics();
  }

  /** Resolves once nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  /** Takes a run that is not running yet out of the queue. */
  #leave(run: QueuedRun, reason: unknown): void {
    if (!this.#clients.remove(this.#waiting, run)) return;
    this.#waitingRows -= run.rows;
    run.reject(reason);
    this.#notifyIdle();
  }

  get #isFree(): boolean {
    return this.#waiting.length === 0 && this.#running < this.#concurrency && this.#turns?.isFree !== false;
  }

  get #gathers(): boolean {
    return this.#policy.runAlone === undefined;
  }

  /** Starts runs; if they go together, once everything that has arrived is in the queue. */
  #pumpSoon(): void {
    if (!this.#gathers) {
      this.#pump();
      return;
    }
    this.#gathering ??= setImmediate(() => {
      this.#gathering = undefined;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#running < this.#concurrency && this.#waiting.length > 0) {
      const lingerMs = this.#policy.lingerMs(this.#waiting);
      if (lingerMs > 0) {
        this.#pumpIn(lingerMs);
        return;
      }
      this.#running++;
      const turn = this.#turns?.begin();
      if (turn === undefined) void this.#run();
      else void turn.then(() => this.#run());
    }
  }

  #take(): QueuedRun[] {
    const taken = this.#policy.take(this.#waiting);
    this.#clients.took(taken[0]!, this.#waiting);
    for (const run of taken) this.#waitingRows -= run.rows;
    return taken;
  }

  /** One timer is enough: those that wait later are waited for when it has fired. */
  #pumpIn(ms: number): void {
    this.#lingering ??= setTimeout(() => {
      this.#lingering = undefined;
      this.#pump();
    }, ms);
  }

  /** The same as {@link #run} for one that has not waited, with fewer steps. */
  async #runAlone(inputs: Tensors, call: ModelCall, since: number): Promise<Tensors> {
    this.#running++;
    void this.#turns?.begin();
    noteWait(call, since, since);
    const stream = this.#hold(call);
    try {
      return await this.#policy.runAlone!(inputs, call);
    } finally {
      if (stream !== undefined) this.#streams.delete(stream);
      const ended = performance.now();
      this.#turns?.end();
      if (call.limits?.warmUp === undefined) {
        this.#counter.addRequest(0);
        this.#counter.addRun({ requests: 1, rows: 1, ms: ended - since - (call.taking?.ms ?? 0) });
      }
      void this.#goOn(ended);
    }
  }

  /** Runs what waits once the model's turn has come; until then, all of it may have left the queue. */
  async #run(): Promise<void> {
    const taken = this.#waiting.length === 0 ? [] : this.#take();
    const started = performance.now();
    for (const { call, since } of taken) noteWait(call, since, started);
    // Those that run together do not answer in parts.
    const stream = taken.length === 1 ? this.#hold(taken[0]!.call) : undefined;
    if (taken.length > 0) await this.#policy.run(taken, this.#count(taken, started));
    if (stream !== undefined) this.#streams.delete(stream);
    this.#turns?.end();
    await this.#goOn(performance.now());
  }

  /** Counts a run that answers in parts among those that hold places, until it is deleted there. */
  #hold({ parts, taking, limits }: ModelCall): PlaceHolder | undefined {
    if (parts?.crowded === undefined || taking === undefined) return undefined;
    const holder: PlaceHolder = {
      client: limits?.client ?? 0,
      get awaitedSince() {
        return taking.since;
      },
      crowded: () => parts.crowded?.(),
    };
    this.#streams.add(holder);
    return holder;
  }

  /** Starts what waits after a run that ended. */
  async #goOn(ended: number): Promise<void> {
    // A driver that never waits would keep the thread from receiving cancelled and new requests.
    if (this.#waiting.length > 0 && !this.#gathers && ended - this.#turnedAt > TURN_MS) await this.#turn();
    this.#running--;
    this.#pumpSoon();
    this.#notifyIdle();
  }

  /** Counts requests that are to be run, but those of a warm-up, and returns what counts their runs. */
  #count(taken: readonly QueuedRun[], started: number): RanListener {
    let isWarmUp = true;
    for (const { limits, since } of taken) {
      if (limits.warmUp !== undefined) continue;
      isWarmUp = false;
      this.#counter.addRequest(started - since);
    }
    return (run) => {
      if (!isWarmUp) this.#counter.addRun(run);
    };
  }

  async #turn(): Promise<void> {
    await new Promise(setImmediate);
    this.#turnedAt = performance.now();
  }

  #notifyIdle(): void {
    if (this.#running === 0 && this.#waiting.length === 0)
      for (const listener of this.#idleListeners.splice(0)) listener();
  }
}

function noteWait({ timeline }: ModelCall, since: number, started: number): void {
  timeline?.add("queue", toSteadyMs(since), toSteadyMs(started));
}
