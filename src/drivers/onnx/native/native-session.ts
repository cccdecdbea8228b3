import type { NativeObject, Pointer } from "../../../platform/native/bind-functions.ts";
import { CancellableRuns, type RunLimits } from "../../../platform/native/cancellable-runs.ts";
import { copyFromNative, readText } from "../../../platform/native/memory.ts";
import { type PoolCalls, QuickRuns } from "../../../platform/native/pool-calls.ts";
import type { Tensors } from "../../../tensor/tensor.ts";
import type { PredictCall } from "../../driver.ts";
import { toDType, typeOf } from "../element-types.ts";
import type { EngineSession, OnnxPort } from "../engine.ts";
import { createOnnxValues, type OnnxType, type OnnxValues, sizeOfValue } from "../onnx-value.ts";
import { NativeRun, type RunnableSession } from "./native-run.ts";
import { type Names, toNames } from "./native-tensor.ts";
import { check, type NativeContext, takeInt, takePointer, takeSize } from "./open-onnx.ts";
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
    if (signal?.aborted) throw signal.reason;
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

/** The inputs of an OrtSession that have no values in the model. */
function readInputs(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetInputCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetInputName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetInputTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** The inputs of an OrtSession that have values in the model, which runs may replace. */
function readOverridable(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetOverridableInitializerCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetOverridableInitializerName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetOverridableInitializerTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** The outputs of an OrtSession. */
function readOutputs(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetOutputCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetOutputName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetOutputTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** Releases both. */
function readPort(context: NativeContext, name: Pointer, type: Pointer): OnnxPort {
  const { api, allocator } = context;
  const port = { name: readText(name), type: readType(context, type) };
  check(api, api.AllocatorFree(allocator, name));
  api.ReleaseTypeInfo(type);
  return port;
}

/** ONNXType by its numbers. */
const KINDS = ["not a tensor", "tensor", "sequence", "map", "opaque value", "sparse tensor", "optional"] as const;

/** The type that an OrtTypeInfo describes. The result of a cast belongs to it, that of a get does not. */
function readType(context: NativeContext, info: Pointer): OnnxType {
  const { api } = context;
  const kind = KINDS[takeInt(api, (at) => api.GetOnnxTypeFromTypeInfo(info, at))] ?? "not a tensor";
  switch (kind) {
    case "tensor":
      return readTensorType(context, info);
    case "sequence": {
      const sequence = takePointer(api, (at) => api.CastTypeInfoToSequenceTypeInfo(info, at));
      return { kind, of: readPart(context, (at) => api.GetSequenceElementType(sequence, at)) };
    }
    case "optional": {
      const optional = takePointer(api, (at) => api.CastTypeInfoToOptionalTypeInfo(info, at));
      return { kind, of: readPart(context, (at) => api.GetOptionalContainedTypeInfo(optional, at)) };
    }
    case "map": {
      const map = takePointer(api, (at) => api.CastTypeInfoToMapTypeInfo(info, at));
      const keys = toDType(typeOf(takeInt(api, (at) => api.GetMapKeyType(map, at))));
      return { kind, keys, of: readPart(context, (at) => api.GetMapValueType(map, at)) };
    }
    default:
      return { kind };
  }
}

function readPart(context: NativeContext, get: (at: BigUint64Array) => Pointer | null): OnnxType {
  const info = takePointer(context.api, get);
  try {
    return readType(context, info);
  } finally {
    context.api.ReleaseTypeInfo(info);
  }
}

function readTensorType({ api }: NativeContext, type: Pointer): OnnxType {
  const info = takePointer(api, (at) => api.CastTypeInfoToTensorInfo(type, at));
  const element = typeOf(takeInt(api, (at) => api.GetTensorElementType(info, at)));
  const rank = takeSize(api, (at) => api.GetDimensionsCount(info, at));
  const sizes = new BigInt64Array(rank);
  const symbols = new BigUint64Array(rank);
  check(api, api.GetDimensions(info, sizes, rank));
  check(api, api.GetSymbolicDimensions(info, symbols, rank));
  const shape = Array.from(sizes, (size, axis) => (size >= 0n ? Number(size) : readText(symbols[axis]!)));
  return { kind: "tensor", element, dtype: toDType(element), shape };
}

/** The exporter's notes in a model, ONNX Runtime's custom metadata map, by key. */
function readMetadata(context: NativeContext, session: Pointer): Record<string, string> {
  const { api } = context;
  const metadata = takePointer(api, (at) => api.SessionGetModelMetadata(session, at));
  try {
    const notes = readKeys(context, metadata).map((key) => [key, readNote(context, metadata, key)]);
    return Object.fromEntries(notes);
  } finally {
    api.ReleaseModelMetadata(metadata);
  }
}

function readKeys({ api, allocator }: NativeContext, metadata: Pointer): string[] {
  const list = new BigUint64Array(1);
  const count = new BigInt64Array(1);
  check(api, api.ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, list, count));
  if (count[0] === 0n) return [];
  const addresses = copyFromNative(new BigUint64Array(Number(count[0])), list[0]!);
  const keys = Array.from(addresses, readText);
  for (const address of [...addresses, list[0]!]) check(api, api.AllocatorFree(allocator, address));
  return keys;
}

function readNote({ api, allocator }: NativeContext, metadata: Pointer, key: string): string {
  const text = takePointer(api, (at) => api.ModelMetadataLookupCustomMetadataMap(metadata, allocator, key, at));
  const note = readText(text);
  check(api, api.AllocatorFree(allocator, text));
  return note;
}
