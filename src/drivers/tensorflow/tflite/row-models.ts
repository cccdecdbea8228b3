import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import type { TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { StartedLiteRt } from "./litert.ts";
import { LiteRtFailure, toRowsError } from "./litert-error.ts";
import { compileModel, type FullSignature, type LiteRtModel, readModelSignatures } from "./litert-model.ts";
import { type TfliteFile, withRows } from "./tflite-file.ts";

/** Numbers of rows that a model stays compiled for. */
const MAX_MODELS = 4;
/** Bytes of an output that a trial makes room for, and the rows that it makes room for at least and at most. */
const MAX_TRIAL_BYTES = 2 ** 24;
const [LEAST_ROOM, MAX_ROOM] = [8, 2 ** 20];

/**
 * A .tflite model that takes any number of rows if the file leaves the first
 * dimension open. LiteRT's JavaScript API knows fixed sizes only, so that the model is
 * compiled for each number of rows that comes, and kept for the last few of them.
 */
export class RowModels {
  readonly runtime: StartedLiteRt;
  /** As the file has them: -1 if the number of rows is open. */
  readonly signatures: ReadonlyMap<string, FullSignature>;
  readonly #file: TfliteFile;
  readonly #models = new Map<number, LiteRtModel>();

  private constructor(runtime: StartedLiteRt, file: TfliteFile, signatures: ReadonlyMap<string, FullSignature>) {
    this.runtime = runtime;
    this.#file = file;
    this.signatures = signatures;
  }

  /**
   * Compiles a model for one row and tries it. Throws {@link LiteRtFailure}, and `failed_precondition` for a model
   * whose outputs LiteRT would not write.
   */
  static async load(runtime: StartedLiteRt, file: TfliteFile): Promise<RowModels> {
    refusePassedOn(file);
    const signatures = withMeantShapes(await readModelSignatures(runtime, file.bytes), file);
    for (const signature of signatures.values()) checkOpenSizes(signature, file);
    const models = new RowModels(runtime, file, signatures);
    try {
      await models.#try();
      await models.#modelFor(1);
      return models;
    } catch (reason) {
      models.close();
      throw reason;
    }
  }

  /**
   * Runs a signature and gives the outputs named, or all; blocks the thread. Throws {@link LiteRtFailure}, and
   * `invalid_argument` for rows that do not agree or that the model cannot compute.
   */
  async run(key: string, inputs: Tensors, wanted: readonly string[] | undefined): Promise<Tensors> {
    const signature = this.signatures.get(key)!;
    const rows = rowsOf(signature.inputs, inputs);
    const results = Object.entries(await this.#run(key, inputs, rows));
    return createTensors(results.filter(([name]) => wanted?.includes(name) ?? true));
  }

  async #run(key: string, inputs: Tensors, rows: number): Promise<Tensors> {
    try {
      const model = await this.#modelFor(rows);
      if (this.#file.hasState && !model.isProven(key)) await this.#proveOnCopy(model, { key, inputs, rows });
      return await model.run(key, inputs);
    } catch (reason) {
      this.#forget(rows);
      throw toRowsError(reason, rows);
    }
  }

  /** A second run of a model that keeps values would keep those of a request twice. */
  async #proveOnCopy(model: LiteRtModel, { key, inputs, rows }: Run): Promise<void> {
    const copy = await compileModel(this.runtime, withRows(this.#file, rows));
    try {
      await copy.run(key, inputs).catch(unlessOfValues);
      model.trust(key);
    } finally {
      copy.close();
    }
  }

  /**
   * Runs each signature on zeros, which a loop might never leave. A fault of
   * those values says nothing of others.
   */
  async #try(): Promise<void> {
    if (this.#file.hasLoops) return;
    for (const [key, signature] of this.signatures) {
      if (signature.outputs.some(isOpen)) await this.#tryRows(key, signature);
      await this.#run(key, zerosFor(signature.inputs, 1), 1).catch(unlessOfValues);
    }
    // What it keeps is not to begin with what the trial left.
    if (this.#file.hasState) this.close();
  }

  /**
   * Checks that a signature gives as many rows as it takes: LiteRT writes more beyond the memory that outputs have, and
   * leaves part of it unwritten if there are fewer. A model may take one row only.
   */
  async #tryRows(key: string, signature: FullSignature): Promise<void> {
    try {
      await this.#compareRows(key, signature, 2);
    } catch (reason) {
      if (!(reason instanceof LiteRtFailure && reason.isStructural) || reason.isMoved) throw reason;
      await this.#compareRows(key, signature, 1);
    }
  }

  /** Claims outputs of far more rows, so that whatever is computed has room; LiteRT says afterwards what it was. */
  async #compareRows(key: string, { inputs, outputs }: FullSignature, rows: number): Promise<void> {
    const open = outputs.map((spec, place) => ({ place, spec })).filter(({ spec }) => isOpen(spec));
    const rowBytes = Math.max(...open.map(({ spec }) => bytesOf(spec, 1)), 1);
    const room = Math.min(Math.max(Math.floor(MAX_TRIAL_BYTES / rowBytes), LEAST_ROOM), MAX_ROOM);
    const model = await compileModel(this.runtime, withRows(this.#file, rows, room));
    try {
      const sizes = await model.measure(key, zerosFor(inputs, rows)).catch(unlessOfValues);
      const wrong = sizes && open.find(({ place, spec }) => sizes[place] !== bytesOf(spec, rows));
      if (sizes === undefined || wrong === undefined) return;
      const given = (sizes[wrong.place] as number) / bytesOf(wrong.spec, 1);
      throw failedPrecondition(
        `Output "${wrong.spec.name}" of the .tflite model has ${given} rows for ${rows} of its inputs', which LiteRT's JavaScript API does not tell; serve the SavedModel that it was made from.`,
      );
    } finally {
      model.close();
    }
  }

  /** Frees all that is compiled. */
  close(): void {
    for (const model of this.#models.values()) model.close();
    this.#models.clear();
  }

  #forget(rows: number): void {
    this.#models.get(rows)?.close();
    this.#models.delete(rows);
  }

  /** The last used is the last in the map. */
  async #modelFor(rows: number): Promise<LiteRtModel> {
    const found = this.#models.get(rows) ?? (await compileModel(this.runtime, withRows(this.#file, rows)));
    this.#models.delete(rows);
    this.#models.set(rows, found);
    const [oldest] = this.#models;
    if (oldest !== undefined && this.#models.size > MAX_MODELS) {
      this.#models.delete(oldest[0]);
      oldest[1].close();
    }
    return found;
  }
}

/** A run of a signature. */
interface Run {
  readonly key: string;
  readonly inputs: Tensors;
  readonly rows: number;
}

/** LiteRT gives an output the memory that the input was to have. */
function refusePassedOn({ passedOn }: TfliteFile): void {
  if (passedOn.length === 0) return;
  const what = `The .tflite model gives back an input unchanged as "${passedOn[0]}", and LiteRT loses that input's values`;
  throw failedPrecondition(
    `${what}; convert the model without that output, or serve the SavedModel that it was made from.`,
  );
}

function withMeantShapes(
  signatures: ReadonlyMap<string, FullSignature>,
  { shapes }: TfliteFile,
): ReadonlyMap<string, FullSignature> {
  const change = (specs: readonly TensorSpec[], index: number) =>
    specs.map((spec) => ({ ...spec, shape: shapes[index]?.get(spec.name) ?? spec.shape ?? [] }));
  return new Map(
    [...signatures].map(([key, { inputs, outputs }], index) => [
      key,
      { inputs: change(inputs, index), outputs: change(outputs, index) },
    ]),
  );
}

function zerosFor(specs: readonly TensorSpec[], rows: number): Tensors {
  return createTensors(specs.map((spec) => [spec.name, zeros(spec, rows)]));
}

function zeros({ dtype, shape = [] }: TensorSpec, rows: number): Tensor {
  const sizes = (shape as readonly number[]).map((size) => (size === -1 ? rows : size));
  const { array, slots } = numericLayout(dtype as NumericDType);
  return createTensor(dtype, sizes, new array(elementCount(sizes) * slots) as never);
}

function bytesOf({ dtype, shape = [] }: TensorSpec, rows: number): number {
  const sizes = (shape as readonly number[]).map((size) => (size === -1 ? rows : size));
  const { bytes } = numericLayout(dtype as NumericDType);
  return elementCount(sizes) * bytes;
}

function unlessOfValues(reason: unknown): undefined {
  if (!(reason instanceof LiteRtFailure) || reason.isStructural) throw reason;
}

function checkOpenSizes({ inputs, outputs }: FullSignature, { hasDataDependentSizes }: TfliteFile): void {
  const tensors = [...inputs, ...outputs];
  const open = tensors.find(({ shape = [] }) => shape.lastIndexOf(-1) > 0);
  if (open !== undefined) {
    const what = `"${open.name}" of the .tflite model has the shape [${open.shape}], of which LiteRT's JavaScript API takes only the first size open`;
    throw failedPrecondition(
      `${what}; convert the model for one size (a tf.function with an input_signature of fixed shapes).`,
    );
  }
  const output = outputs.find(isOpen);
  if (output === undefined || (inputs.some(isOpen) && !hasDataDependentSizes)) return;
  const what = `The size of output "${output.name}" of the .tflite model depends on the values of the inputs`;
  throw failedPrecondition(
    `${what}, which LiteRT's JavaScript API does not offer; serve the SavedModel that it was made from.`,
  );
}

/** One row if the model's sizes are fixed. */
function rowsOf(specs: readonly TensorSpec[], inputs: Tensors): number {
  const open = specs.filter(isOpen).map(({ name }) => ({ name, rows: inputs[name]?.shape[0] ?? 0 }));
  const [first] = open;
  if (first === undefined) return 1;
  const other = open.find(({ rows }) => rows !== first.rows);
  if (other !== undefined) {
    const what = `Input "${first.name}" has ${first.rows} rows and input "${other.name}" has ${other.rows}`;
    throw invalidArgument(`${what}; the model takes as many of each.`);
  }
  if (first.rows > 0) return first.rows;
  throw invalidArgument(`Input "${first.name}" has no rows; the model takes one or more.`);
}

function isOpen({ shape = [] }: TensorSpec): boolean {
  return shape[0] === -1;
}
