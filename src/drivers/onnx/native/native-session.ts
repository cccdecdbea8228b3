import type { NativeObject } from "../../../platform/native/bind-functions.ts";
import { CancellableRuns, type RunLimits } from "../../../platform/native/cancellable-runs.ts";
import { type PoolCalls, QuickRuns } from "../../../platform/native/pool-calls.ts";
import type { Tensors } from "../../../tensor/tensor.ts";
import type { PredictCall } from "../../driver.ts";
import type { EngineSession, OnnxPort } from "../engine.ts";
import { createOnnxValues, type OnnxValues, sizeOfValue } from "../onnx-value.ts";
import { NativeRun, type RunnableSession } from "./native-run.ts";
import { type Names, toNames } from "./native-tensor.ts";
import type { NativeContext } from "./open-onnx.ts";
import { readInputs, readMetadata, readOutputs, readOverridable } from "./ports.ts";
import { PreparedRuns } from "./prepared-runs.ts";

/**
 * Duration of a run that may block the model thread, and so does not end at once when it is cancelled. In the pool it
 * would take two wake-ups more, each of which waits for a core if all are busy: 2 ms beside a hook that decodes
 * photos.
 */
const QUICK_MS = 50;

/** Treatment of a session's runs. */
interface SessionChoice extends RunLimits {
  /** True if a run that is likely to be quick may block the thread. */
  readonly hasBoundedRuns: boolean;
  /**
   * True if every run blocks the thread: CUDA has handles and 100 MB for each thread
   * in which it runs, and ends no run in any.
   */
  readonly staysHere: boolean;
  readonly poolCalls: PoolCalls;
  /** Values of inputs that runs may leave out. */
  readonly defaults: Tensors;
}

/**
 * An OrtSession. It runs in this thread on a GPU and while its runs are quick, else in
 * the pool, where they can be ended.
 */
export class NativeSession implements EngineSession {
  readonly outputs: readonly OnnxPort[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly #session: NativeObject;
  readonly #runnable: RunnableSession;
  readonly #all: Names;
  readonly #prepared: PreparedRuns;
  readonly #quickRuns: QuickRuns | undefined;
  readonly #runs: CancellableRuns;
  readonly #poolCalls: PoolCalls;
  readonly #staysHere: boolean;
  /** Undefined if all inputs have to be given. */
  readonly #defaults: Tensors | undefined;

  /** Takes over the session. */
  constructor(context: NativeContext, session: NativeObject, choice: SessionChoice) {
    const { hasBoundedRuns, staysHere, poolCalls, defaults, ...limits } = choice;
    const { pointer } = session;
    this.#session = session;
    const offered = readOverridable(context, pointer).filter(({ name }) => defaults[name] !== undefined);
    const inputs = [...readInputs(context, pointer), ...offered];
    this.#defaults = offered.length > 0 ? defaults : undefined;
    this.#runnable = { context, pointer, inputs, inputNames: toNames(inputs.map(({ name }) => name)) };
    this.outputs = readOutputs(context, pointer);
    this.metadata = readMetadata(context, pointer);
    this.#all = toNames(this.outputs.map(({ name }) => name));
    this.#quickRuns = hasBoundedRuns ? new QuickRuns(QUICK_MS) : undefined;
    this.#prepared = new PreparedRuns(this.#runnable, this.#all);
    this.#poolCalls = poolCalls;
    this.#staysHere = staysHere;
    this.#runs = new CancellableRuns(limits);
  }

  get inputs(): readonly OnnxPort[] {
    return this.#runnable.inputs;
  }

  async run(given: OnnxValues, { outputs, signal }: Partial<PredictCall>): Promise<OnnxValues> {
    const inputs = this.#withDefaults(given);
    const wanted = outputs === undefined ? this.#all : toNames(outputs);
    const bytes = sizeOf(inputs);
    if (this.#staysHere || this.#quickRuns?.isQuick(bytes))
      return this.#timed(bytes, () => this.#runHere(inputs, wanted));
    const start = () => {
      const run = new NativeRun(this.#runnable, inputs, wanted);
      const result = this.#timed(bytes, () => this.#runSlow(run)).finally(() => run.release());
      return { result, cancel: () => run.cancel() };
    };
    return this.#runs.run(start, signal);
  }

  runNow(inputs: OnnxValues): OnnxValues {
    return this.#runHere(this.#withDefaults(inputs), this.#all);
  }

  #withDefaults(given: OnnxValues): OnnxValues {
    return this.#defaults === undefined ? given : createOnnxValues(Object.entries({ ...this.#defaults, ...given }));
  }

  async close(): Promise<void> {
    await this.#runs.close();
    this.#prepared.release();
    this.#session.release();
  }

  async #timed(bytes: number, run: () => OnnxValues | Promise<OnnxValues>): Promise<OnnxValues> {
    const started = performance.now();
    try {
      return await run();
    } finally {
      this.#quickRuns?.note(bytes, performance.now() - started);
    }
  }

  /**
   * In the pool; in this thread if other threads have filled the pool, since a wait
   * there would keep files and images waiting.
   */
  async #runSlow(run: NativeRun): Promise<OnnxValues> {
    if (!this.#poolCalls.tryBegin()) return run.runHere();
    return run.runElsewhere().finally(() => this.#poolCalls.end());
  }

  #runHere(inputs: OnnxValues, outputs: Names): OnnxValues {
    const isWhole = outputs === this.#all;
    const prepared = isWhole ? this.#prepared.tryRun(inputs) : undefined;
    if (prepared !== undefined) return prepared;
    const run = new NativeRun(this.#runnable, inputs, outputs);
    try {
      const results = run.runHere();
      if (isWhole) this.#prepared.learn(inputs, results);
      return results;
    } finally {
      run.release();
    }
  }
}

function sizeOf(inputs: OnnxValues): number {
  let bytes = 0;
  for (const name in inputs) bytes += sizeOfValue(inputs[name]!);
  return bytes;
}
