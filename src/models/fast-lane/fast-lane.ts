import type { QuickModel } from "../../drivers/driver.ts";
import { reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { toSteadyMs } from "../../observability/steady-clock.ts";
import { Timeline } from "../../observability/timeline.ts";
import { isUnmarked, NO_LIMITS } from "../../platform/limits/call-limits.ts";
import { filledTensor } from "../../tensor/signature/example-inputs.ts";
import { fitsShape, type TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors, tensorBytes } from "../../tensor/tensor.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { ModelCall } from "../model-handle.ts";
import { RunCounter, type RunStatistics } from "../queue/run-statistics.ts";
import { runError } from "../run-model.ts";
import type { LaneMark } from "./lane-mark.ts";
import { LaneShape } from "./lane-shape.ts";

/** Bytes of the inputs of a run in the main thread, at most. */
const MOST_BYTES = 16 * 1024;
/** Sets of shapes of one model that are looked at. */
const MOST_SHAPES = 8;
/** Runs that warm up a copy, and the time after which they end early, in milliseconds. */
const WARM_UP = { runs: 20, ms: 5 } as const;

/** Parts of a fast lane. */
export interface FastLaneParts {
  readonly facts: Pick<ModelFacts, "driver" | "path" | "signatures" | "defaultSignature">;
  /** Longest time of a run, in milliseconds. */
  readonly maxMs: number;
  /** Loads the copy of the model for this thread, when runs in the model's own thread were fast. */
  readonly open: () => Promise<QuickModel>;
  readonly mark: LaneMark;
  readonly log: Logger;
}

/** A run in the model's thread that is timed. */
export interface Trial {
  readonly timeline: Timeline;
  /** To be called once its answer is there. */
  end(): void;
}

/**
 * Runs of a small model in the thread where its requests arrive, past the wake-up of the model's own. They begin when
 * runs of the same shapes were fast there, and end with the first slow one.
 */
export class FastLane {
  readonly #parts: FastLaneParts;
  readonly #specs: readonly TensorSpec[];
  readonly #shapes: LaneShape[] = [];
  readonly #counter = new RunCounter();
  #model: QuickModel | undefined;
  #opening: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: FastLaneParts) {
    const { signatures, defaultSignature } = parts.facts;
    this.#parts = parts;
    this.#specs = signatures[defaultSignature]?.inputs ?? [];
  }

  /**
   * Runs the model if that is known to be fast, else gives undefined; throws
   * ServingError as the model's own thread does.
   */
  run(inputs: Tensors, call: ModelCall): Tensors | undefined {
    if (this.#model === undefined || !this.#isPlain(call)) return undefined;
    const shape = this.#find(inputs);
    if (shape?.isFast !== true || !turnBudget.take(shape.expectedMs)) return undefined;
    return this.#run(this.#model, inputs, { call, shape });
  }

  /** Times a run that is made in the model's thread, if that is of use. */
  observe(inputs: Tensors, call: ModelCall): Trial | undefined {
    if (this.#isClosed || !this.#isPlain(call)) return undefined;
    const shape = this.#find(inputs) ?? this.#add(inputs);
    if (shape === undefined || shape.isFast || !shape.isTrialDue()) return undefined;
    const { timeline = new Timeline() } = call;
    return {
      timeline,
      end: () => {
        const run = timeline.intervals.findLast(({ kind }) => kind === "model");
        if (run !== undefined && !shape.isFast && shape.addTrial(run.end - run.start)) void this.#start(shape);
      },
    };
  }

  /** Times and counts of the runs in this thread. */
  statistics(): RunStatistics {
    return this.#counter.statistics();
  }

  /** Frees the copy of the model. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const model = this.#model;
    this.#model = undefined;
    await model?.close();
  }

  /** True for a call whose answer needs nothing but the run. */
  #isPlain({ signature, outputs, targets, requestId, limits = NO_LIMITS, signal }: ModelCall): boolean {
    const isWhole = outputs === undefined && targets === undefined && signature === this.#parts.facts.defaultSignature;
    return isWhole && isUnmarked(limits) && requestId === undefined && !signal.aborted;
  }

  #find(inputs: Tensors): LaneShape | undefined {
    let count = 0;
    for (const _ in inputs) count++;
    if (count !== this.#specs.length) return undefined;
    for (const shape of this.#shapes) if (shape.matches(inputs)) return shape;
    return undefined;
  }

  /** Only inputs that need no conversion, and whose values do not decide about their size. */
  #add(inputs: Tensors): LaneShape | undefined {
    if (this.#shapes.length >= MOST_SHAPES) return undefined;
    const fits = this.#specs.every(({ name, dtype, shape }) => {
      const tensor = inputs[name];
      return tensor?.dtype === dtype && dtype !== "bytes" && (shape === undefined || fitsShape(tensor.shape, shape));
    });
    const bytes = tensorBytes(inputs);
    if (!fits || Object.keys(inputs).length !== this.#specs.length || bytes > MOST_BYTES) return undefined;
    const shape = new LaneShape(this.#specs, inputs);
    this.#shapes.push(shape);
    return shape;
  }

  #run(model: QuickModel, inputs: Tensors, { call, shape }: { call: ModelCall; shape: LaneShape }): Tensors {
    const { facts, mark, maxMs } = this.#parts;
    const started = performance.now();
    mark.flip();
    let failure: unknown;
    try {
      return model.run(inputs);
    } catch (reason) {
      failure = runError(reason, call, facts);
      throw failure;
    } finally {
      mark.flip();
      const ended = performance.now();
      this.#note(call, { started, ended });
      if (ended - started <= maxMs) shape.addRun(ended - started);
      else if (shape.stop()) setImmediate(() => void this.#start(shape));
    }
  }

  #note({ timeline }: ModelCall, { started, ended }: { started: number; ended: number }): void {
    this.#counter.addRequest(0);
    this.#counter.addRun({ requests: 1, rows: 1, ms: ended - started });
    if (timeline === undefined) return;
    const [start, end] = [toSteadyMs(started), toSteadyMs(ended)];
    timeline.add("queue", start, start);
    timeline.add("model", start, end);
  }

  /** Lets runs of a shape begin, if they are fast in this thread too. */
  async #start(shape: LaneShape): Promise<void> {
    const { log, maxMs, facts } = this.#parts;
    this.#opening ??= this.#open();
    await this.#opening;
    if (this.#model === undefined || shape.isFast) return;
    let ms = Number.POSITIVE_INFINITY;
    try {
      ms = this.#warmUp(this.#model, shape);
    } catch (reason) {
      log.debug(`the model runs in its own thread, since it fails on zeros: ${reasonText(reason)}`);
    }
    if (ms <= maxMs) shape.start(ms);
    else shape.stop();
    log.trace("runs in the main thread", { path: facts.path, us: Math.round(ms * 1000), begin: shape.isFast });
  }

  async #open(): Promise<void> {
    try {
      const model = await this.#parts.open();
      if (this.#isClosed) await model.close();
      else this.#model = model;
    } catch (reason) {
      this.#isClosed = true;
      this.#parts.log.debug(`the model runs in its own thread only: ${reasonText(reason)}`, { err: reason });
    }
  }

  /** Milliseconds of the fastest of some runs on zeros. */
  #warmUp(model: QuickModel, { shapes }: LaneShape): number {
    const inputs = createTensors(
      this.#specs.map((spec, index) => [spec.name, filledTensor({ ...spec, shape: shapes[index]!, element: 0 })]),
    );
    const began = performance.now();
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let run = 0; run < WARM_UP.runs; run++) {
      const started = performance.now();
      if (started - began > WARM_UP.ms) break;
      model.run(inputs);
      fastestMs = Math.min(fastestMs, performance.now() - started);
    }
    return fastestMs;
  }
}

/** Milliseconds of each turn of the event loop that runs in this thread may take together. */
const TURN_MS = 1;

/**
 * Time that runs of models may take from the thread that answers clients: what it does
 * not allow goes to the models' threads.
 */
export class TurnBudget {
  #leftMs = TURN_MS;

  /** Takes the expected time of a run from what this turn has left; returns false if that is too little. */
  take(ms: number): boolean {
    if (ms > this.#leftMs) return false;
    if (this.#leftMs === TURN_MS) setImmediate(this.#renew);
    this.#leftMs -= ms;
    return true;
  }

  readonly #renew = () => {
    this.#leftMs = TURN_MS;
  };
}

/** The turns of this process's main thread, which all its models share. */
const turnBudget = new TurnBudget();
