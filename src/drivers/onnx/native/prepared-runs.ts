import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { type NumericData, type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { byteSize, createTensors, type Tensor, type Tensors, toBytes } from "../../../tensor/tensor.ts";
import { areTensors, type OnnxValues } from "../onnx-value.ts";
import { inputsInUse, type RunnableSession } from "./native-run.ts";
import { type Names, viewMemory } from "./native-tensor.ts";
import { check, type NativeContext } from "./open-onnx.ts";

/**
 * Prepares a model's runs once two of them in a row had the same shapes, and none if outputs have shapes that depend
 * on values, or are inputs: ONNX Runtime takes such an input as the output, and leaves the memory for it as it is.
 */
export class PreparedRuns {
  readonly #session: RunnableSession;
  /** All outputs. */
  readonly #names: Names;
  #prepared: PreparedRun | undefined;
  /** Shapes of the last run that was not prepared. */
  #lastShapes = "";
  #isOff: boolean;

  constructor(session: RunnableSession, names: Names) {
    this.#session = session;
    this.#names = names;
    this.#isOff = session.inputs.some(({ name }) => names.names.includes(name));
  }

  /**
   * The outputs; undefined if no run is prepared for these inputs, and if it
   * fails: then another run has to be made.
   */
  tryRun(inputs: OnnxValues): Tensors | undefined {
    const prepared = this.#prepared;
    if (prepared === undefined || !prepared.fits(inputs as Tensors)) return undefined;
    try {
      return prepared.run(inputs as Tensors);
    } catch {
      return undefined;
    }
  }

  /** Takes note of a run that was not prepared. */
  learn(inputs: OnnxValues, outputs: OnnxValues): void {
    if (this.#isOff) return;
    if (!canPrepare(inputs) || !canPrepare(outputs) || this.#prepared?.fits(inputs)) {
      this.#isOff = true;
      this.release();
      return;
    }
    const shapes = `${shapesOf(inputs)} ${shapesOf(outputs)}`;
    if (shapes === this.#lastShapes) this.#prepare(inputs, outputs);
    this.#lastShapes = shapes;
  }

  release(): void {
    this.#prepared?.release();
    this.#prepared = undefined;
  }

  #prepare(inputs: Tensors, outputs: Tensors): void {
    this.release();
    this.#prepared = new PreparedRun(this.#session, this.#names, { inputs, outputs });
  }
}

function shapesOf(tensors: Tensors): string {
  return Object.values(tensors)
    .map(({ dtype, shape }) => `${dtype}[${shape}]`)
    .join();
}

/**
 * Bytes of the largest tensor that has its own memory here: to copy so many costs
 * as little as to describe them to ONNX Runtime.
 */
const KEPT_BYTES = 16 * 1024;

/** An input or output of a shape that is known before the run. */
interface Slot {
  readonly name: string;
  readonly dtype: NumericDType;
  readonly shape: readonly number[];
  /** Memory that all runs use; absent for a large one: an input's own is used, an output's allocated. */
  readonly kept?: { readonly data: NumericData; readonly bytes: Uint8Array; readonly value: Pointer };
}

/**
 * Runs of a model on inputs of the same shapes, whose outputs have had the same shapes too: everything else is
 * prepared, so that a small model takes one call. Fails if an output has another shape this time.
 */
class PreparedRun {
  readonly #session: RunnableSession;
  readonly #names: Names;
  readonly #inputs: readonly Slot[];
  readonly #outputs: readonly Slot[];
  readonly #given: BigUint64Array;
  readonly #results: BigUint64Array;

  /** Prepares runs like one that was made. */
  constructor(session: RunnableSession, names: Names, { inputs, outputs }: { inputs: Tensors; outputs: Tensors }) {
    const { context } = session;
    this.#session = session;
    this.#names = names;
    this.#inputs = session.inputs.map(({ name }) => toSlot(context, name, inputs[name]!));
    this.#outputs = names.names.map((name) => toSlot(context, name, outputs[name]!));
    this.#given = BigUint64Array.from(this.#inputs, ({ kept }) => kept?.value ?? 0n);
    this.#results = BigUint64Array.from(this.#outputs, ({ kept }) => kept?.value ?? 0n);
  }

  /** Checks that inputs have the dtypes and shapes of the prepared ones. */
  fits(inputs: Tensors): boolean {
    return this.#inputs.every((slot) => isLike(inputs[slot.name], slot));
  }

  /** Runs in this thread, on inputs that {@link fits} accepts. */
  run(inputs: Tensors): Tensors {
    const { api } = this.#session.context;
    const { pointer, inputNames } = this.#session;
    const given = this.#given;
    const results = this.#results;
    const { names, texts } = this.#names;
    inputsInUse.add(inputs);
    try {
      this.#give(inputs);
      const made = this.#outputs.map((slot, index) => this.#makeRoom(slot, index));
      check(api, api.Run(pointer, null, inputNames.texts, given, given.length, texts, names.length, results));
      return createTensors(this.#outputs.map((slot, index) => [slot.name, toTensor(slot, made[index])]));
    } finally {
      this.#forget(this.#inputs, given);
      this.#forget(this.#outputs, results);
      inputsInUse.delete(inputs);
    }
  }

  release(): void {
    const { api } = this.#session.context;
    for (const { kept } of [...this.#inputs, ...this.#outputs]) if (kept !== undefined) api.ReleaseValue(kept.value);
  }

  #give(inputs: Tensors): void {
    for (const [index, { name, kept }] of this.#inputs.entries()) {
      const tensor = inputs[name] as Tensor<NumericDType>;
      if (kept !== undefined) kept.data.set(tensor.data as never);
      else this.#given[index] = viewMemory(this.#session.context, tensor);
    }
  }

  /** The memory for a large output; that of others is cleared of what an earlier run has left. */
  #makeRoom({ dtype, shape, kept }: Slot, index: number): NumericData | undefined {
    kept?.bytes.fill(0);
    if (kept !== undefined) return undefined;
    const data = allocate(dtype, shape);
    this.#results[index] = viewMemory(this.#session.context, { dtype, shape, data } as Tensor<NumericDType>);
    return data;
  }

  #forget(slots: readonly Slot[], values: BigUint64Array): void {
    const { api } = this.#session.context;
    for (const [index, { kept }] of slots.entries()) {
      if (kept !== undefined || values[index] === 0n) continue;
      api.ReleaseValue(values[index]!);
      values[index] = 0n;
    }
  }
}

/** Checks that a run can be prepared on such values: those of tensors of numbers alone have memory of a known size. */
function canPrepare(values: OnnxValues): values is Tensors {
  return areTensors(values) && Object.values(values).every(({ dtype }) => dtype !== "bytes");
}

function toSlot(context: NativeContext, name: string, tensor: Tensor): Slot {
  const { dtype, shape } = tensor as Tensor<NumericDType>;
  if (byteSize(tensor) > KEPT_BYTES) return { name, dtype, shape };
  const data = allocate(dtype, shape);
  const value = viewMemory(context, { dtype, shape, data } as Tensor<NumericDType>);
  return { name, dtype, shape, kept: { data, bytes: toBytes(data), value } };
}

function allocate(dtype: NumericDType, shape: readonly number[]): NumericData {
  const { array, slots } = numericLayout(dtype);
  return new array(shape.reduce((product, size) => product * size, slots));
}

function isLike(tensor: Tensor | undefined, { dtype, shape }: Slot): boolean {
  if (tensor === undefined || tensor.dtype !== dtype || tensor.shape.length !== shape.length) return false;
  for (let axis = 0; axis < shape.length; axis++) if (tensor.shape[axis] !== shape[axis]) return false;
  return true;
}

function toTensor({ dtype, shape, kept }: Slot, made: NumericData | undefined): Tensor {
  return { dtype, shape: [...shape], data: made ?? kept!.data.slice() } as Tensor<NumericDType>;
}
