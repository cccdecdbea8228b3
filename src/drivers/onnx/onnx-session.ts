import { dirname, resolve } from "node:path";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { type PlainValue, toTensor } from "../../tensor/plain-value.ts";
import { isPlainObject } from "../../tensor/record.ts";
import { createTensors, isTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { PredictCall } from "../driver.ts";
import type { EngineSession, OnnxEngine, OnnxLoading, OnnxPort } from "./engine.ts";
import { readGuardedModel } from "./guards/guarded-model.ts";
import { type SymbolicShapes, toLoadError, toRunError } from "./onnx-error.ts";
import {
  carriedTensor,
  createOnnxValues,
  describeType,
  type OnnxMap,
  type OnnxType,
  type OnnxValue,
  type OnnxValues,
} from "./onnx-value.ts";

/** The configuration entry with the folder of data files, for a model that is given as bytes. */
const DATA_FOLDER = "model_external_initializers_file_folder_path";

/** A loaded model, whose errors are in words that clients understand. */
export class OnnxSession {
  readonly #session: EngineSession;
  readonly #symbols: SymbolicShapes;
  #closed = false;

  /** Takes over the session: frees it in {@link close}. */
  constructor(session: EngineSession) {
    this.#session = session;
    this.#symbols = new Map(session.inputs.map(({ name, type }) => [name, type.kind === "tensor" ? type.shape : []]));
  }

  /** The inputs that a run needs. */
  get inputs(): readonly OnnxPort[] {
    return this.#session.inputs;
  }

  get outputs(): readonly OnnxPort[] {
    return this.#session.outputs;
  }

  /** The exporter's notes about the model; absent if the engine does not tell. */
  get metadata(): Readonly<Record<string, string>> | undefined {
    return this.#session.metadata;
  }

  /** Runs the model, and may block the thread meanwhile; gives the outputs named, or all. */
  async run(inputs: OnnxValues, call: Partial<PredictCall> = {}): Promise<OnnxValues> {
    if (this.#closed) throw failedPrecondition("The model is closed.");
    try {
      return await this.#session.run(inputs, call);
    } catch (reason) {
      if (reason instanceof ServingError) throw reason;
      if (call.signal?.aborted) throw ServingError.from(call.signal.reason);
      throw toRunError(reason, tensorsOf(inputs), this.#symbols);
    }
  }

  /** True if {@link runNow} can be called: all outputs are tensors that requests carry. */
  get canRunNow(): boolean {
    const areCarried = this.outputs.every(({ type }) => carriedTensor("Output", type) !== undefined);
    return this.#session.runNow !== undefined && areCarried;
  }

  /** Runs the model in this thread and gives all outputs, if the engine can wait for nothing. */
  runNow(inputs: Tensors): Tensors {
    try {
      return this.#session.runNow!(inputs) as Tensors;
    } catch (reason) {
      throw reason instanceof ServingError ? reason : toRunError(reason, inputs, this.#symbols);
    }
  }

  /** Waits for the last run and frees the model; runs fail from here on. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#session.close();
  }
}

function tensorsOf(values: OnnxValues): Tensors {
  return createTensors(Object.entries(values).filter((entry): entry is [string, Tensor] => isTensor(entry[1])));
}

/** Loads a model with its guards. Throws `failed_precondition` with the runtime's reason. */
export async function loadOnnxSession(engine: OnnxEngine, path: string, loading: OnnxLoading): Promise<OnnxSession> {
  try {
    return new OnnxSession(await loadGuarded(engine, path, loading));
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    throw toLoadError(reason, path, loading.options.runtime_backend);
  }
}

/** ONNX Runtime's words about a file that it does not load are about the file as it is. */
async function loadGuarded(engine: OnnxEngine, path: string, loading: OnnxLoading): Promise<EngineSession> {
  const bytes = readGuardedModel(path);
  if (bytes === undefined) return engine.load(path, loading);
  const session = { ...loading.options.session, [DATA_FOLDER]: dirname(resolve(path)) };
  try {
    return await engine.load(path, { ...loading, options: { ...loading.options, session }, bytes });
  } catch (reason) {
    if (loading.needsGuards) throw reason;
    return engine.load(path, loading);
  }
}

/** The `session` of hooks: plain data and async functions only, so that it can be reached from another thread. */
export interface SessionHandle {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** The model file's `metadata_props` (ONNX Runtime's custom_metadata_map), as its exporter wrote them. */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Runs the model; plain values become tensors of the dtype that the input has, arrays sequences, objects maps, and
   * null an optional without a value. Gives the outputs named, or all.
   */
  run(feeds: Feeds, fetches?: readonly string[]): Promise<OnnxValues>;
}

/** A hook's values by the names of inputs. */
type Feeds = { readonly [name: string]: FeedValue };

/** The handle of a session; `defaults` are values of inputs that need not be given. */
export function createSessionHandle(
  session: OnnxSession,
  metadata: SessionHandle["metadata"],
  defaults: Tensors = createTensors(),
): SessionHandle {
  const { inputs, outputs } = session;
  const inputNames = inputs.map(({ name }) => name);
  const outputNames = outputs.map(({ name }) => name);
  return {
    inputNames,
    outputNames,
    metadata,
    run: async (feeds, fetches) => {
      for (const name of Object.keys(feeds)) checkName("input", name, inputNames);
      const given: Feeds = { ...defaults, ...feeds };
      for (const name of fetches ?? []) checkName("output", name, outputNames);
      const missing = inputNames.find((name) => !Object.hasOwn(given, name));
      if (missing !== undefined)
        throw invalidArgument(`Input "${missing}" is missing; session.run takes ${inputNames.join(", ")}.`);
      const values = inputs.map(({ name, type }) => [name, toOnnxValue(given[name] as FeedValue, name, type)] as const);
      return session.run(createOnnxValues(values), fetches === undefined ? {} : { outputs: fetches });
    },
  };
}

/** The runtime would ignore an unknown input. */
function checkName(role: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw invalidArgument(`The model has no ${role} "${name}".${didYouMean(name, known)} It has ${known.join(", ")}.`);
}

/**
 * A hook's value for an input: an array for a sequence, an object for a map, null for
 * an optional without a value, else as for a tensor.
 */
type FeedValue = Tensor | PlainValue | readonly FeedValue[] | OnnxMap | null;

/** Turns a hook's value into one of a type; throws `invalid_argument` naming the input. */
function toOnnxValue(value: FeedValue, name: string, type: OnnxType): OnnxValue {
  switch (type.kind) {
    case "optional":
      return value === null || value === undefined ? null : toOnnxValue(value, name, type.of);
    case "sequence":
      if (!Array.isArray(value)) throw mismatch(name, "not an array", type);
      return value.map((element: FeedValue, index) => toOnnxValue(element, `${name}[${index}]`, type.of));
    case "map":
      if (isTensor(value) || !isPlainObject(value)) throw mismatch(name, "not a plain object", type);
      return value as OnnxMap;
    case "tensor": {
      const tensor = toTensor(value as PlainValue, name, type.dtype);
      if (tensor.dtype === type.dtype) return tensor;
      throw mismatch(name, tensor.dtype, type);
    }
    default:
      throw mismatch(name, "given", type);
  }
}

function mismatch(name: string, what: string, type: OnnxType): ServingError {
  const expected = type.kind === "tensor" ? (type.dtype ?? type.element) : describeType(type);
  return invalidArgument(`Input "${name}" is ${what}; the model takes ${expected}.`);
}
