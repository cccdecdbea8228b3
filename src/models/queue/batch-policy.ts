import { ServingError } from "../../errors.ts";
import { BatchTimeline } from "../../observability/timeline.ts";
import { type CancelSignal, CancelSource } from "../../platform/async/cancel-source.ts";
import { concatRows, copyRows, padTo, sliceRows } from "../../tensor/rows.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import { checkedRows, haveSameRows, joinParts, joinRows, rowsOf } from "./batch-rows.ts";
import type { Batching } from "./batching.ts";
import { PassedRanks } from "./client-turns.ts";
import { areLikeLengths, lengthsBeside, RunCost } from "./like-lengths.ts";
import type { QueuedRun } from "./queued-run.ts";
import type { RanListener, RunPolicy } from "./run-queue.ts";

/** Requests among which those of the next batch are chosen by their lengths. */
const CHOSEN_AMONG = 128;

/** A model as batches need it. */
interface BatchedModel {
  predict(inputs: Tensors, call: ModelCall): Promise<Tensors>;
  /** As in a driver's model. */
  lengthOf?(inputs: Tensors, signature: string): number;
}

/** A batch that runs: the call of its runs, and who counts them. */
interface RunningBatch {
  readonly call: ModelCall;
  readonly requests: number;
  readonly onRan: RanListener;
}

/**
 * Puts waiting predicts together along the first dimension, runs them as one, and
 * splits the outputs; results equal those of single runs.
 */
export class BatchPolicy implements RunPolicy {
  readonly #batching: Batching;
  readonly #model: BatchedModel;
  readonly #pause: () => Promise<void>;
  readonly #cost = new RunCost();
  /** Runs under way, and all that have begun. */
  #running = 0;
  #begun = 0;

  /** `pause` is called between two runs for the same requests: it lets others use the thread. */
  constructor(batching: Batching, model: BatchedModel, pause = nextTurn) {
    this.#batching = batching;
    this.#model = model;
    this.#pause = pause;
  }

  lingerMs(waiting: readonly QueuedRun[]): number {
    const { lingerMs, maxRows } = this.#batching;
    if (lingerMs === 0) return 0;
    if (rowsOfAll(waiting) >= maxRows) return 0;
    const oldest = Math.min(...waiting.map(({ since }) => since));
    return Math.max(0, lingerMs - (performance.now() - oldest));
  }

  /** Inputs without rows in common run alone if no option asks for batches: the model may refuse them. */
  rowsOf(inputs: Tensors): number {
    const { isImplied = false, maxRows } = this.#batching;
    return isImplied && !haveSameRows(inputs) ? maxRows + 1 : rowsOf(inputs);
  }

  lengthOf(inputs: Tensors, { signature }: ModelCall): number {
    return this.#model.lengthOf?.(inputs, signature) ?? 0;
  }

  assertRoom(waitingRows: number, rows: number): void {
    const { maxRows, maxWaiting } = this.#batching;
    if (maxWaiting === 0 || waitingRows === 0 || waitingRows + rows <= maxWaiting * maxRows) return;
    const batches = Math.ceil(waitingRows / maxRows);
    const text = `The batch scheduling queue to which this task was submitted is full; currently ${batches} batches enqueued and max_enqueued_batches is ${maxWaiting}`;
    throw new ServingError("unavailable", text);
  }

  take(waiting: QueuedRun[]): QueuedRun[] {
    const [first] = waiting as [QueuedRun];
    const taken: QueuedRun[] = [];
    let rows = 0;
    let others = 0;
    let seen = 0;
    const [least, most] = this.#lengthsBeside(first, waiting);
    let [shortest, longest] = [first.length, first.length];
    const passed = new PassedRanks();
    for (; seen < waiting.length; seen++) {
      const run = waiting[seen]!;
      const lengths = [Math.min(shortest, run.length), Math.max(longest, run.length)] as const;
      const isBeside = run.length >= least && run.length <= most && areLikeLengths(...lengths);
      const isAlike = taken.length === 0 || (isBeside && this.#goTogether(first, run));
      if (!isAlike || passed.goesBefore(run)) {
        waiting[others++] = run;
        passed.add(run);
      } else if (taken.length > 0 && rows + run.rows > this.#batching.maxRows) break;
      else {
        taken.push(run);
        rows += run.rows;
        [shortest, longest] = lengths;
      }
    }
    waiting.splice(others, seen - others);
    return taken;
  }

  /** Lengths of the rows that run with the first request; all where they do not matter. */
  #lengthsBeside(first: QueuedRun, waiting: readonly QueuedRun[]): readonly [shortest: number, longest: number] {
    if (waiting.every(({ length }) => length === first.length)) return [first.length, first.length];
    const near = waiting.slice(0, CHOSEN_AMONG).filter((run) => run === first || this.#goTogether(first, run));
    return lengthsBeside(first, near, { maxRows: this.#batching.maxRows, runBytes: this.#cost.bytes });
  }

  async run(taken: readonly QueuedRun[], onRan: RanListener): Promise<void> {
    const { call, forgetSignals } = jointCall(taken);
    try {
      const batch = { call, requests: taken.length, onRan };
      const rows = rowsOfAll(taken);
      const outputs = await this.#timed(rows * Math.max(...taken.map(({ length }) => length)), () =>
        this.#predictRows(this.#join(taken), rows, batch),
      );
      let start = 0;
      for (const run of taken) {
        const end = start + run.rows;
        run.resolve(taken.length === 1 ? outputs : mapTensors(outputs, (tensor) => copyRows(tensor, start, end)));
        start = end;
      }
    } catch (reason) {
      if (taken.length === 1) taken[0]!.reject(reason);
      else await this.#runEach(taken, onRan);
    } finally {
      forgetSignals();
    }
  }

  /** One request's bad values must not fail its neighbours: each is run by itself, unless it has been given up. */
  async #runEach(taken: readonly QueuedRun[], onRan: RanListener): Promise<void> {
    for (const run of taken) {
      await this.#pause();
      const { signal } = run.call;
      if (signal.aborted) run.reject(signal.reason);
      else await this.run([run], onRan);
    }
  }

  /** Learns the cost of a run of so many bytes, unless it shares its time with another one. */
  async #timed<Made>(bytes: number, run: () => Promise<Made>): Promise<Made> {
    const isAlone = this.#running++ === 0;
    const begun = ++this.#begun;
    const started = performance.now();
    try {
      const made = await run();
      if (isAlone && begun === this.#begun) this.#cost.note(bytes, performance.now() - started);
      return made;
    } finally {
      this.#running--;
    }
  }

  /** Splits inputs that are larger than a batch, pads those that are smaller than an allowed size. */
  async #predictRows(inputs: Tensors, rows: number, batch: RunningBatch): Promise<Tensors> {
    const { maxRows, allowedRows, isImplied = false } = this.#batching;
    if (rows > maxRows && !isImplied) {
      const parts: Tensors[] = [];
      for (let start = 0; start < rows; start += maxRows) {
        const end = Math.min(rows, start + maxRows);
        if (start > 0) await this.#pause();
        batch.call.signal.throwIfAborted();
        parts.push(
          await this.#predictRows(
            mapTensors(inputs, (tensor) => sliceRows(tensor, start, end)),
            end - start,
            batch,
          ),
        );
      }
      return joinParts(parts);
    }
    const padded = allowedRows.find((allowed) => allowed >= rows) ?? rows;
    if (padded === rows || rows === 0) {
      const outputs = await this.#predictOnce(inputs, rows, batch);
      // No option asks for rows, and there is nothing to split: whatever the model gives is its answer.
      return isImplied && batch.requests === 1 ? outputs : checkedRows(outputs, rows);
    }
    const filled = mapTensors(inputs, (tensor) =>
      concatRows([tensor, ...new Array(padded - rows).fill(sliceRows(tensor, 0, 1))]),
    );
    const outputs = checkedRows(await this.#predictOnce(filled, rows, batch), padded);
    return mapTensors(outputs, (tensor) => sliceRows(tensor, 0, rows));
  }

  /** Runs the model, and counts it with the rows of the requests alone. */
  async #predictOnce(inputs: Tensors, rows: number, { call, requests, onRan }: RunningBatch): Promise<Tensors> {
    const started = performance.now();
    try {
      return await this.#model.predict(inputs, call);
    } finally {
      onRan({ requests, rows, ms: performance.now() - started });
    }
  }

  #join(taken: readonly QueuedRun[]): Tensors {
    if (taken.length === 1) return taken[0]!.inputs;
    const all = taken.map(({ inputs }) => inputs);
    return joinRows(this.#batching.padVariableLength ? padAlike(all) : all);
  }

  /** True for the same signature, wanted outputs, names, dtypes and row shapes (ranks, if lengths are padded). */
  #goTogether({ inputs: one, call: oneCall }: QueuedRun, { inputs: other, call: otherCall }: QueuedRun): boolean {
    if (oneCall.signature !== otherCall.signature || !isSameList(oneCall.outputs, otherCall.outputs)) return false;
    const names = Object.keys(one);
    if (names.length !== Object.keys(other).length) return false;
    return names.every((name) => Object.hasOwn(other, name) && this.#areAlike(one[name]!, other[name]!));
  }

  #areAlike(one: Tensor, other: Tensor): boolean {
    if (one.dtype !== other.dtype || one.shape.length !== other.shape.length) return false;
    return (
      this.#batching.padVariableLength || one.shape.every((size, axis) => axis === 0 || size === other.shape[axis])
    );
  }
}

/** A turn of the event loop: cancelled and new requests are received, and other threads see that this one goes on. */
function nextTurn(): Promise<void> {
  return new Promise(setImmediate);
}

function rowsOfAll(runs: readonly QueuedRun[]): number {
  return runs.reduce((sum, { rows }) => sum + rows, 0);
}

function isSameList(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((name, index) => name === other[index]);
}

function padAlike(all: readonly Tensors[]): Tensors[] {
  const names = Object.keys(all[0]!);
  const largest = new Map(names.map((name) => [name, largestShape(all.map((tensors) => tensors[name]!))]));
  return all.map((tensors) => {
    const padded = Object.entries(tensors).map(([name, tensor]) => {
      const [, ...row] = largest.get(name)!;
      return [name, padTo(tensor, [tensor.shape[0]!, ...row])] as const;
    });
    return createTensors(padded);
  });
}

function largestShape(tensors: readonly Tensor[]): number[] {
  const [first] = tensors as readonly [Tensor];
  return first.shape.map((_, axis) => Math.max(...tensors.map(({ shape }) => shape[axis]!)));
}

function mapTensors(tensors: Tensors, change: (tensor: Tensor) => Tensor): Tensors {
  return createTensors(Object.entries(tensors).map(([name, tensor]) => [name, change(tensor)]));
}

/** The call of a batch, and the end of its wait for the signals of its requests, which may live longer. */
interface JointCall {
  readonly call: ModelCall;
  readonly forgetSignals: () => void;
}

/** A run ends early only once all of its requests have been given up; the longest deadline of them all applies. */
function jointCall(taken: readonly QueuedRun[]): JointCall {
  const [{ call: first }] = taken as readonly [QueuedRun];
  if (taken.length === 1) return { call: first, forgetSignals: () => {} };
  const latest = Math.max(...taken.map(({ limits }) => limits.deadline ?? Number.POSITIVE_INFINITY));
  const { signature, outputs } = first;
  const { signal, forgetSignals } = jointSignal(taken.map(({ call }) => call.signal));
  const limits = Number.isFinite(latest) ? { deadline: latest } : undefined;
  const requestId = first.requestId === undefined ? undefined : taken.map(({ call }) => call.requestId).join(" ");
  const timelines = taken.flatMap(({ call }) => call.timeline ?? []);
  const timeline = timelines.length === 0 ? undefined : new BatchTimeline(timelines);
  return { call: { signature, outputs, requestId, limits, signal, timeline }, forgetSignals };
}

/** Aborts once all of the signals have. */
function jointSignal(signals: readonly CancelSignal[]): { signal: CancelSource } & Pick<JointCall, "forgetSignals"> {
  const signal = new CancelSource();
  let open = signals.length;
  const waits = signals.map((each) => ({ each, leave: () => --open === 0 && signal.abort(each.reason) }));
  for (const { each, leave } of waits) each.addEventListener("abort", leave, { once: true });
  const forgetSignals = () => {
    for (const { each, leave } of waits) each.removeEventListener("abort", leave);
  };
  return { signal, forgetSignals };
}
