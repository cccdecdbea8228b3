import { invalidArgument } from "../../../errors.ts";
import { type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import type { OnnxPort } from "../engine.ts";
import { createOnnxValues, type OnnxValues } from "../onnx-value.ts";
import type { Names } from "./native-tensor.ts";
import { fromNativeValue, toNativeValue } from "./native-value.ts";
import { check, type NativeContext, takePointer } from "./open-onnx.ts";

/** A loaded model, as its runs need it. */
export interface RunnableSession {
  readonly context: NativeContext;
  readonly pointer: Pointer;
  readonly inputs: readonly OnnxPort[];
  readonly inputNames: Names;
}

/** One run: made once, then released. */
export class NativeRun {
  readonly #session: RunnableSession;
  readonly #inputs: OnnxValues;
  readonly #outputs: Names;
  readonly #given: BigUint64Array;
  readonly #results: BigUint64Array;
  #options: Pointer | undefined;

  /**
   * Takes the inputs, which have to stay as they are until {@link release}; throws `invalid_argument` for one that is
   * missing, and for bytes that are not text.
   */
  constructor(session: RunnableSession, inputs: OnnxValues, outputs: Names) {
    this.#session = session;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#results = new BigUint64Array(outputs.names.length);
    this.#given = new BigUint64Array(session.inputs.length);
    inputsInUse.add(inputs);
    try {
      for (const [index, port] of session.inputs.entries()) this.#given[index] = this.#toValue(port);
    } catch (reason) {
      this.release();
      throw reason;
    }
  }

  /** Runs in this thread. */
  runHere(): OnnxValues {
    const { api } = this.#session.context;
    check(api, api.Run(...this.#arguments(null)));
    return this.#takeResults();
  }

  /** Runs in a thread of the pool. */
  async runElsewhere(): Promise<OnnxValues> {
    const { api } = this.#session.context;
    const options = takePointer(api, (at) => api.CreateRunOptions(at));
    this.#options = options;
    check(api, await runAsync(api.Run, ...this.#arguments(options)));
    return this.#takeResults();
  }

  /** Ends a run in a thread of the pool before its next operator. */
  cancel(): void {
    const { api } = this.#session.context;
    if (this.#options !== undefined) check(api, api.RunOptionsSetTerminate(this.#options));
  }

  /** Frees what the run has taken, once it has ended. */
  release(): void {
    const { api } = this.#session.context;
    for (const value of this.#given) if (value !== 0n) api.ReleaseValue(value);
    for (const value of this.#results) if (value !== 0n) api.ReleaseValue(value);
    if (this.#options !== undefined) api.ReleaseRunOptions(this.#options);
    this.#options = undefined;
    inputsInUse.delete(this.#inputs);
  }

  #arguments(options: Pointer | null) {
    const { pointer, inputNames } = this.#session;
    const { names, texts } = this.#outputs;
    const [given, results] = [this.#given, this.#results];
    return [pointer, options, inputNames.texts, given, given.length, texts, names.length, results] as const;
  }

  #toValue({ name, type }: OnnxPort): Pointer {
    const value = this.#inputs[name];
    if (value === undefined) throw invalidArgument(`Input "${name}" is missing.`);
    return toNativeValue(this.#session.context, { name, value, type });
  }

  #takeResults(): OnnxValues {
    const { context } = this.#session;
    const { names } = this.#outputs;
    return createOnnxValues(names.map((name, index) => [name, fromNativeValue(context, name, this.#results[index]!)]));
  }
}

/** Inputs whose memory ONNX Runtime reads at present; the garbage collector leaves them alone. */
export const inputsInUse = new Set<object>();
