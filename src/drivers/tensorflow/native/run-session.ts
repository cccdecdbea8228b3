import { invalidArgument, ServingError } from "../../../errors.ts";
import { type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, copyToNative } from "../../../platform/native/memory.ts";
import { numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { dataTypeName, fromDType, toDType } from "../saved-model/data-type.ts";
import { type TensorflowApi, withBuffer, withStatus, withStatusAsync } from "./c-api.ts";
import { encodeOutputs, type GraphTensor } from "./graph.ts";

/** A tensor of the graph, and its value for a run. */
export interface Feed {
  readonly target: GraphTensor;
  readonly tensor: Tensor;
}

/** One run of a graph. */
interface SessionRun {
  readonly feeds: readonly Feed[];
  readonly fetches: readonly GraphTensor[];
  /** Operations that run in addition. */
  readonly targets?: readonly Pointer[] | undefined;
  /** Milliseconds after which TensorFlow ends it. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs the operations that the fetched tensors need, in a thread of the pool; returns the tensors in order. Throws
 * TensorflowFailure.
 */
export async function runSession(api: TensorflowApi, session: Pointer, run: SessionRun): Promise<Tensor[]> {
  const { feeds, fetches, timeoutMs } = run;
  const options = timeoutMs === undefined ? null : createRunOptions(api, timeoutMs);
  const given: Pointer[] = [];
  try {
    for (const { tensor } of feeds) given.push(toNativeTensor(api, tensor));
    return takeTensors(api, await call(api, session, { options, given, run }), fetches);
  } finally {
    for (const pointer of given) api.TF_DeleteTensor(pointer);
    if (options !== null) api.TF_DeleteBuffer(options);
  }
}

interface CallArguments {
  readonly options: Pointer | null;
  readonly given: readonly Pointer[];
  readonly run: SessionRun;
}

/** koffi does not move the arrays until the call returns. */
async function call(api: TensorflowApi, session: Pointer, args: CallArguments): Promise<BigUint64Array> {
  const { feeds, fetches, targets = [] } = args.run;
  const inputs = encodeOutputs(feeds.map(({ target }) => target));
  const values = BigUint64Array.from(args.given);
  const outputs = encodeOutputs(fetches);
  const results = new BigUint64Array(fetches.length);
  await withStatusAsync(api, (status) =>
    runAsync(
      api.TF_SessionRun,
      session,
      args.options,
      inputs,
      values,
      feeds.length,
      outputs,
      results,
      fetches.length,
      BigUint64Array.from(targets),
      targets.length,
      null,
      status,
    ),
  );
  return results;
}

/** `RunOptions` with field 2, `timeout_in_ms`, alone. */
function createRunOptions(api: TensorflowApi, timeoutMs: number): Pointer {
  const message = new Uint8Array(1 + MAX_VARINT_BYTES);
  message[0] = 0x10;
  const end = writeVarint(message, 1, Math.max(1, Math.ceil(timeoutMs)));
  return api.TF_NewBufferFromString(message, end) as Pointer;
}

/** Copies of the tensors, which are deleted in any case. */
function takeTensors(api: TensorflowApi, pointers: BigUint64Array, fetches: readonly GraphTensor[]): Tensor[] {
  try {
    return fetches.map(({ name }, index) => fromNativeTensor(api, pointers[index]!, name));
  } finally {
    for (const pointer of pointers) api.TF_DeleteTensor(pointer);
  }
}

/** Bytes of a TF_TString. */
const STRING_BYTES = 24;

/**
 * A TF_Tensor with a tensor's values, for {@link TensorflowApi.TF_DeleteTensor}. Its memory is TensorFlow's own:
 * TensorFlow computes on memory that is aligned to 64 bytes only and would copy what V8 allocates (16 bytes) itself;
 * and a graph may keep what it is given, in a variable for instance.
 */
function toNativeTensor(api: TensorflowApi, tensor: Tensor): Pointer {
  if (tensor.dtype === "bytes") return toStringTensor(api, tensor);
  const { dtype, shape, data } = tensor;
  const pointer = allocate(api, fromDType(dtype), shape, data.byteLength);
  copyToNative(api.TF_TensorData(pointer) as Pointer, data);
  return pointer;
}

/**
 * A copy of a TF_Tensor, in its own memory; throws `invalid_argument`, with the name that it was asked for by, for a
 * type that no request can carry.
 */
function fromNativeTensor(api: TensorflowApi, pointer: Pointer, name: string): Tensor {
  const type = api.TF_TensorType(pointer);
  const dtype = toDType(type);
  if (dtype === undefined) throw notCarried(name, type);
  const shape = Array.from({ length: api.TF_NumDims(pointer) }, (_, axis) => Number(api.TF_Dim(pointer, axis)));
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor("bytes", shape, readStrings(api, pointer, count));
  const { array, slots } = numericLayout(dtype);
  const data = copyFromNative(new array(count * slots), count === 0 ? 0n : (api.TF_TensorData(pointer) as Pointer));
  return createTensor(dtype, shape, data as never);
}

function notCarried(name: string, type: number): ServingError {
  return invalidArgument(`"${name}" is of type ${dataTypeName(type)}, which has no values to give.`);
}

function allocate(api: TensorflowApi, type: number, shape: readonly number[], bytes: number): Pointer {
  const pointer = api.TF_AllocateTensor(type, BigInt64Array.from(shape, BigInt), shape.length, bytes);
  if (pointer === null) throw new ServingError("resource_exhausted", `TensorFlow has no memory for ${bytes} bytes.`);
  return pointer;
}

/**
 * From a TensorProto, so that TensorFlow owns each string: the memory of strings that were put into a tensor one by one
 * could never be freed safely.
 */
function toStringTensor(api: TensorflowApi, { shape, data }: Tensor<"bytes">): Pointer {
  const pointer = allocate(api, fromDType("bytes"), [0], 0);
  try {
    const proto = toStringTensorProto(shape, data);
    withBuffer(api, proto, (buffer) => withStatus(api, (status) => api.TF_TensorFromProto(buffer, pointer, status)));
    return pointer;
  } catch (reason) {
    api.TF_DeleteTensor(pointer);
    throw reason;
  }
}

function readStrings(api: TensorflowApi, pointer: Pointer, count: number): Uint8Array[] {
  if (count === 0) return [];
  const first = api.TF_TensorData(pointer) as Pointer;
  return Array.from({ length: count }, (_, index) => {
    const string = first + BigInt(index * STRING_BYTES);
    const bytes = new Uint8Array(Number(api.TF_StringGetSize(string)));
    return copyFromNative(bytes, api.TF_StringGetDataPointer(string) as Pointer);
  });
}

// Field numbers of TensorProto, TensorShapeProto and TensorShapeProto.Dim, with their wire types.
const DTYPE = 0x08;
const SHAPE = 0x12;
const STRING_VAL = 0x42;
const DIM = 0x12;
const SIZE = 0x08;
/** Bytes of the longest varint that a size can be. */
const MAX_VARINT_BYTES = 10;

/** The bytes of a TensorProto of strings; written by hand, since a request may have many. */
function toStringTensorProto(shape: readonly number[], strings: readonly Uint8Array[]): Uint8Array {
  const dims = shape.flatMap((size) => [DIM, 1 + varint(size).length, SIZE, ...varint(size)]);
  const head = [DTYPE, fromDType("bytes"), SHAPE, ...varint(dims.length), ...dims];
  const room = strings.reduce((sum, { length }) => sum + 1 + MAX_VARINT_BYTES + length, head.length);
  const bytes = new Uint8Array(room);
  bytes.set(head);
  let end = head.length;
  for (const string of strings) {
    bytes[end] = STRING_VAL;
    end = writeVarint(bytes, end + 1, string.length);
    bytes.set(string, end);
    end += string.length;
  }
  return bytes.subarray(0, end);
}

function varint(value: number): readonly number[] {
  const bytes = new Uint8Array(MAX_VARINT_BYTES);
  return [...bytes.subarray(0, writeVarint(bytes, 0, value))];
}

function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let end = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[end++] = (rest % 0x80) | 0x80;
  bytes[end++] = rest;
  return end;
}
