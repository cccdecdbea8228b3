import type { Tensors } from "../../../tensor/tensor.ts";
import type { OnnxValues } from "../onnx-value.ts";
import type { Names } from "./names.ts";
import type { RunnableSession } from "./native-run.ts";
import { canPrepare, PreparedRun } from "./prepared-run.ts";

/**
 * Prepares a model's runs once two of them in a row had the same shapes, and none where outputs have shapes that depend
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
   * The outputs; undefined where no run is prepared for these inputs, and where it
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
