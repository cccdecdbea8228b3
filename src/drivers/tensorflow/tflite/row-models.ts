import { ServingError } from "../../../errors.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import { createTensors, type Tensors } from "../../../tensor/tensor.ts";
import type { StartedLiteRt } from "./litert.ts";
import { compileModel, type FullSignature, type LiteRtModel, readModelSignatures } from "./litert-model.ts";
import { type TfliteFile, withRows } from "./tflite-file.ts";

/** How many numbers of rows a model stays compiled for. */
const MAX_MODELS = 4;

/**
 * A .tflite model that takes any number of rows where the file leaves the first dimension open. LiteRT's JavaScript API knows fixed sizes
 * only, so that the model is compiled for each number of rows that comes, and kept for the last few of them.
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

  /** Compiles a model for one row. Throws LiteRT's exceptions, and `failed_precondition` for a model of which more than the rows is open. */
  static async load(runtime: StartedLiteRt, file: TfliteFile): Promise<RowModels> {
    const signatures = readModelSignatures(runtime, file.bytes);
    for (const signature of signatures.values()) checkOpenSizes(signature, file);
    const models = new RowModels(runtime, file, signatures);
    await models.#modelFor(1);
    return models;
  }

  /** Runs a signature and gives the outputs named, or all; blocks the thread. Throws LiteRT's exceptions, and `invalid_argument` for rows that do not agree. */
  async run(key: string, inputs: Tensors, wanted: readonly string[] | undefined): Promise<Tensors> {
    const signature = this.signatures.get(key) as FullSignature;
    const model = await this.#modelFor(rowsOf(signature.inputs, inputs));
    const results = Object.entries(await model.run(key, inputs));
    return createTensors(results.filter(([name]) => wanted?.includes(name) ?? true));
  }

  /** Frees all that is compiled. */
  close(): void {
    for (const model of this.#models.values()) model.close();
    this.#models.clear();
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

function checkOpenSizes({ inputs, outputs }: FullSignature, { hasDataDependentSizes }: TfliteFile): void {
  const tensors = [...inputs, ...outputs];
  const open = tensors.find(({ shape = [] }) => shape.lastIndexOf(-1) > 0);
  if (open !== undefined) {
    const what = `"${open.name}" of the .tflite model has the shape [${open.shape}], of which LiteRT's JavaScript API takes only the first size open`;
    throw refused(`${what}; convert the model for one size (a tf.function with an input_signature of fixed shapes).`);
  }
  const output = outputs.find(isOpen);
  if (output === undefined || (inputs.some(isOpen) && !hasDataDependentSizes)) return;
  const what = `The size of output "${output.name}" of the .tflite model depends on the values of the inputs`;
  throw refused(`${what}, which LiteRT's JavaScript API does not offer; serve the SavedModel that it was made from.`);
}

/** One row where the model's sizes are fixed. */
function rowsOf(specs: readonly TensorSpec[], inputs: Tensors): number {
  const open = specs.filter(isOpen).map(({ name }) => ({ name, rows: inputs[name]?.shape[0] ?? 0 }));
  const [first] = open;
  if (first === undefined) return 1;
  const other = open.find(({ rows }) => rows !== first.rows);
  if (other !== undefined) {
    const what = `Input "${first.name}" has ${first.rows} rows and input "${other.name}" has ${other.rows}`;
    throw new ServingError("invalid_argument", `${what}; the model takes as many of each.`);
  }
  if (first.rows > 0) return first.rows;
  throw new ServingError("invalid_argument", `Input "${first.name}" has no rows; the model takes one or more.`);
}

function isOpen({ shape = [] }: TensorSpec): boolean {
  return shape[0] === -1;
}

function refused(message: string): ServingError {
  return new ServingError("failed_precondition", message);
}
