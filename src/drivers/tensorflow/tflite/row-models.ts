import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { StartedLiteRt } from "./litert.ts";
import { toRowsError } from "./litert-error.ts";
import { LiteRtFailure } from "./litert-failure.ts";
import { compileModel, type FullSignature, type LiteRtModel, readModelSignatures } from "./litert-model.ts";
import { type TfliteFile, withRows } from "./tflite-file.ts";

/** Numbers of rows that a model stays compiled for. */
const MAX_MODELS = 4;

/**
 * A .tflite model that takes any number of rows where the file leaves the first
 * dimension open. LiteRT's JavaScript API knows fixed sizes only, so that the model is
 * compiled for each number of rows that comes, and kept for the last few of them.
 */
export class RowModels {
  readonly runtime: StartedLiteRt;
  /** As the file has them: -1 where the number of rows is open. */
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
   * Runs each signature on zeros, which a loop might never leave. What is wrong with
   * those values says nothing of others.
   */
  async #try(): Promise<void> {
    if (this.#file.hasLoops) return;
    for (const [key, { inputs, outputs }] of this.signatures) {
      if (outputs.some(isOpen)) await this.#tryRows(key, inputs);
      await this.#run(key, zerosFor(inputs, 1), 1).catch(unlessOfValues);
    }
    // What it keeps is not to begin with what the trial left.
    if (this.#file.hasState) this.close();
  }

  /**
   * Claims outputs of one row for inputs of two, which must fail: with fewer rows than
   * the inputs, part of an output would not be written.
   */
  async #tryRows(key: string, inputs: readonly TensorSpec[]): Promise<void> {
    const model = await compileModel(this.runtime, withRows(this.#file, 2, 1));
    try {
      await model.run(key, zerosFor(inputs, 2));
    } catch (reason) {
      if (reason instanceof LiteRtFailure && reason.isStructural) return;
      throw reason;
    } finally {
      model.close();
    }
    throw failedPrecondition(
      "An output of the .tflite model has fewer rows than its inputs, which LiteRT's JavaScript API does not tell; serve the SavedModel that it was made from.",
    );
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

function unlessOfValues(reason: unknown): void {
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

/** One row where the model's sizes are fixed. */
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
