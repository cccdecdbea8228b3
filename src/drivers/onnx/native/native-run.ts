import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import { type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { encodeMessage, integerField, messageField, textField } from "../../../tensor/codecs/protobuf/wire-writer.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { toTensor } from "../../../tensor/plain-value.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import { codeOf } from "../element-types.ts";
import type { OnnxPort } from "../engine.ts";
import { createOnnxValues, type OnnxMap, type OnnxType, type OnnxValue, type OnnxValues } from "../onnx-value.ts";
import { fromNativeTensor, type Names, toNames, toNativeTensor } from "./native-tensor.ts";
import { check, type NativeContext, takeInt, takePointer, takeSize } from "./open-onnx.ts";

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

/** ONNXType. */
const KIND = { tensor: 1, sequence: 2, map: 3 } as const;

/** A value with its type, which it is known to have, and its name for messages. */
interface TypedValue {
  readonly name: string;
  readonly value: OnnxValue;
  readonly type: OnnxType;
}

/**
 * An OrtValue. The memory of tensors has to stay where it is for as long. Throws
 * `invalid_argument` for what the C API has no way to pass.
 */
function toNativeValue(context: NativeContext, { name, value, type }: TypedValue): Pointer {
  if (type.kind === "optional" && value !== null) return toNativeValue(context, { name, value, type: type.of });
  if (type.kind === "sequence") {
    const elements = value as readonly OnnxValue[];
    if (elements.length === 0) return emptySequence(context, name, type.of);
    const parts = elements.map((element) => () => toNativeValue(context, { name, value: element, type: type.of }));
    return compose(context, KIND.sequence, parts);
  }
  if (type.kind === "map") {
    const tensors = toMapTensors(value as OnnxMap, type, name);
    const parts = tensors.map((tensor) => () => toNativeTensor(context, name, tensor));
    return compose(context, KIND.map, parts);
  }
  if (value === null) throw cannotPass(name, "an optional without a value");
  return toNativeTensor(context, name, value as Tensor);
}

function emptySequence(context: NativeContext, name: string, of: OnnxType): Pointer {
  if (of.kind !== "tensor" || of.dtype === undefined) throw cannotPass(name, `an empty sequence of ${of.kind}s`);
  return createEmptySequence(context, of.dtype);
}

/** A copy of an OrtValue; throws `failed_precondition` for what we do not carry. */
function fromNativeValue(context: NativeContext, name: string, pointer: Pointer): OnnxValue {
  const { api } = context;
  if (takeInt(api, (at) => api.HasValue(pointer, at)) === 0) return null;
  const kind = takeInt(api, (at) => api.GetValueType(pointer, at));
  if (kind === KIND.tensor) return fromNativeTensor(context, name, pointer);
  if (kind === KIND.sequence) {
    const count = takeSize(api, (at) => api.GetValueCount(pointer, at));
    return Array.from({ length: count }, (_, index) => takePart(context, name, { pointer, index }));
  }
  if (kind !== KIND.map) throw failedPrecondition(`Output "${name}" has a value that cannot be carried.`);
  const [keys, values] = [0, 1].map((index) => takePart(context, name, { pointer, index }));
  return fromMapTensors(keys as Tensor, values as Tensor);
}

/** Makes a value of parts, which it keeps itself. */
function compose({ api }: NativeContext, kind: number, parts: readonly (() => Pointer)[]): Pointer {
  const made: Pointer[] = [];
  try {
    for (const make of parts) made.push(make());
    const addresses = BigUint64Array.from(made);
    return takePointer(api, (at) => api.CreateValue(addresses, addresses.length, kind, at));
  } finally {
    for (const part of made) api.ReleaseValue(part);
  }
}

interface Part {
  readonly pointer: Pointer;
  readonly index: number;
}

function takePart(context: NativeContext, name: string, { pointer, index }: Part): OnnxValue {
  const { api, allocator } = context;
  const part = takePointer(api, (at) => api.GetValue(pointer, index, allocator, at));
  try {
    return fromNativeValue(context, name, part);
  } finally {
    api.ReleaseValue(part);
  }
}

function cannotPass(name: string, what: string) {
  return invalidArgument(`Input "${name}" is ${what}, which ONNX Runtime's C API has no way to pass.`);
}

const OUTPUT = "empty";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { irVersion: 1, graph: 7, operators: 8 };
const OPERATORS = { version: 2 };
const GRAPH = { node: 1, name: 2, output: 12 };
const NODE = { output: 2, operator: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, integer: 3, kind: 20 };
const INTEGER = 2;
const VALUE = { name: 1, type: 2 };
const TYPE = { tensor: 1, sequence: 4, element: 1 };
/** The first versions that have the operator. */
const VERSIONS = { ir: 6, operators: 11 };

/**
 * An OrtValue of a sequence of no tensors, for which the C API has no constructor: the output of a model of one
 * operator, which takes a fraction of a millisecond. It outlives that model.
 */
function createEmptySequence(context: NativeContext, dtype: DType): Pointer {
  const { api, environment } = context;
  const model = modelOf(codeOf(dtype));
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    check(api, api.SetIntraOpNumThreads(settings, 1));
    return runOnce(
      context,
      takePointer(api, (at) => api.CreateSessionFromArray(environment, model, model.length, settings, at)),
    );
  } finally {
    api.ReleaseSessionOptions(settings);
  }
}

function runOnce({ api }: NativeContext, session: Pointer): Pointer {
  const { texts } = toNames([OUTPUT]);
  try {
    return takePointer(api, (at) => api.Run(session, null, null, null, 0, texts, 1, at));
  } finally {
    api.ReleaseSession(session);
  }
}

function modelOf(code: number): Buffer {
  const dtype = [
    textField(ATTRIBUTE.name, "dtype"),
    integerField(ATTRIBUTE.integer, code),
    integerField(ATTRIBUTE.kind, INTEGER),
  ];
  const node = [
    textField(NODE.output, OUTPUT),
    textField(NODE.operator, "SequenceEmpty"),
    messageField(NODE.attribute, dtype),
  ];
  const tensor = messageField(TYPE.element, [messageField(TYPE.tensor, [integerField(TYPE.element, code)])]);
  const output = [textField(VALUE.name, OUTPUT), messageField(VALUE.type, [messageField(TYPE.sequence, [tensor])])];
  const graph = [messageField(GRAPH.node, node), textField(GRAPH.name, OUTPUT), messageField(GRAPH.output, output)];
  return encodeMessage([
    integerField(MODEL.irVersion, VERSIONS.ir),
    messageField(MODEL.graph, graph),
    messageField(MODEL.operators, [integerField(OPERATORS.version, VERSIONS.operators)]),
  ]);
}

type MapType = Extract<OnnxType, { readonly kind: "map" }>;

/**
 * The keys and the values of a map, each as a list, of the map's type; throws
 * `invalid_argument` for other keys and values.
 */
function toMapTensors(map: OnnxMap, { keys, of }: MapType, name: string): [keys: Tensor, values: Tensor] {
  const names = Object.keys(map);
  const numbers = keys === "bytes" ? names : names.map((key) => BigInt(key));
  const dtype = of.kind === "tensor" ? of.dtype : undefined;
  return [toTensor(numbers, `${name}'s keys`, keys), toTensor(Object.values(map), `${name}'s values`, dtype)];
}

/** The map of a list of keys and a list of values; texts are UTF-8. */
function fromMapTensors(keys: Tensor, values: Tensor): OnnxMap {
  const texts = plainElements(keys).map(String);
  const numbers = plainElements(values);
  return Object.fromEntries(texts.map((key, index) => [key, numbers[index]!]));
}

function plainElements(tensor: Tensor): (number | bigint | string)[] {
  if (tensor.dtype !== "bytes") return Array.from<number | bigint>(tensor.data);
  return tensor.data.map((element) => Buffer.from(element).toString());
}
