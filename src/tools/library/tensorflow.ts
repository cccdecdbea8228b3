import type { Model } from "../../drivers/driver.ts";
import { parseOptions } from "../../drivers/option-table.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "../../drivers/tensorflow/engine.ts";
import { findModelSource } from "../../drivers/tensorflow/model-source.ts";
import portable from "../../drivers/tensorflow/portable/portable-engine.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { checkInputs } from "../../models/check-inputs.ts";
import type { Logger } from "../../observability/logger.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { assertOutputs, chooseSignature } from "../../tensor/signature/choose-signature.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { toInputTensors } from "../../tensor/signature/to-input-tensors.ts";
import type { Tensors } from "../../tensor/tensor.ts";

export { type ErrorCode, ServingError } from "../../errors.ts";
export type { DType } from "../../tensor/dtype.ts";
export { toNested } from "../../tensor/elements.ts";
export type { PlainValue, Values } from "../../tensor/plain-value.ts";
export type { Signature, TensorSpec } from "../../tensor/signature/signature.ts";
export { createTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/** Choices for loading a model. */
export interface LoadOptions {
  /** Tags of the graph to take from a SavedModel; default `["serve"]`. */
  readonly tags?: readonly string[];
  /** Inputs of a frozen graph, as `name` or `name:0`; default: its placeholders. */
  readonly inputs?: readonly string[];
  /** Outputs of a frozen graph, as `name` or `name:0`; default: what nothing else takes. */
  readonly outputs?: readonly string[];
  /** Told of signatures that are not served, and of numbers that are computed in float32. */
  readonly onWarning?: (message: string, facts: Readonly<Record<string, unknown>>) => void;
}

/** Choices for one run. */
export interface RunOptions {
  /** Default `serving_default`, or the only one. */
  readonly signature?: string;
  /** Names of the wanted outputs; default: all. */
  readonly outputs?: readonly string[];
  /** Fails the run with `deadline_exceeded` after so many milliseconds. */
  readonly timeoutMs?: number;
}

/** A model in this thread's memory, until it is closed. */
export interface LoadedModel {
  readonly signatures: Readonly<Record<string, Signature>>;
  /**
   * Runs a signature on tensors, typed arrays or nested lists by the names of its inputs; blocks the thread meanwhile.
   * Rejects with `invalid_argument` for inputs that the signature does not take.
   */
  predict(inputs: Values, options?: RunOptions): Promise<Tensors>;
  /** Frees its memory; later runs are refused. */
  close(): Promise<void>;
}

/**
 * Loads a SavedModel's folder or a frozen graph (`.pb`). Rejects with `failed_precondition`, which names the operations
 * that cannot be computed as TensorFlow does, or what the path has instead.
 */
export async function loadModel(path: string, options: LoadOptions = {}): Promise<LoadedModel> {
  const source = findModelSource(path);
  if (source.format !== "saved-model" && source.format !== "frozen-graph")
    throw failedPrecondition(
      `"${path}" is a model of another format; expected a SavedModel's folder or a frozen graph.`,
    );
  const model = await portable.load(source, toDriverOptions(options), { log: toLog(options), threads: 1 });
  return new OpenModel(model);
}

class OpenModel implements LoadedModel {
  readonly signatures: Readonly<Record<string, Signature>>;
  #model: Model | undefined;

  constructor(model: Model) {
    this.#model = model;
    this.signatures = model.signatures;
  }

  async predict(values: Values, { signature: name = "", outputs, timeoutMs }: RunOptions = {}): Promise<Tensors> {
    if (this.#model === undefined) throw failedPrecondition("The model is closed; load it again.");
    const { name: signature, spec } = this.#choose(name);
    assertOutputs(outputs, spec.outputs);
    // TensorFlow's own functions decide which shapes they take.
    const inputs = checkInputs(toInputTensors(values, spec.inputs), spec.inputs, { shapes: false });
    const signal = timeoutMs === undefined ? NEVER : AbortSignal.timeout(timeoutMs);
    const limit = timeoutMs === undefined ? {} : { deadlineMs: timeoutMs };
    return this.#model.predict(inputs, { signature, signal, ...limit, ...(outputs && { outputs }) });
  }

  #choose(name: string): { readonly name: string; readonly spec: Signature } {
    const chosen = chooseSignature(name, this.signatures);
    if (chosen?.spec !== undefined) return { name: chosen.name, spec: chosen.spec };
    const names = Object.keys(this.signatures);
    throw invalidArgument(
      `The model has no signature "${name}".${didYouMean(name, names)} It has ${names.map((each) => `"${each}"`).join(", ")}.`,
    );
  }

  async close(): Promise<void> {
    const model = this.#model;
    this.#model = undefined;
    await model?.close();
  }
}

const NEVER = new AbortController().signal;

/** The driver's options take texts, as the command line does. */
function toDriverOptions({ tags, inputs, outputs }: LoadOptions): TensorflowOptions {
  const lists = Object.entries({ tags, inputs, outputs });
  const raw = lists.flatMap(([name, list]) => (list === undefined ? [] : [[name, list.join(",")] as const]));
  return parseOptions(TENSORFLOW_OPTIONS, Object.fromEntries(raw));
}

/** Only warnings are for the caller. */
function toLog({ onWarning = () => {} }: LoadOptions): Logger {
  const none = () => {};
  const log: Logger = {
    ...{ level: "warn", trace: none, debug: none, info: none },
    warn: (message, facts = {}) => onWarning(message, facts),
    error: (message, facts = {}) => onWarning(message, facts),
    child: () => log,
  };
  return log;
}
