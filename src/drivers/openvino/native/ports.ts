import { ServingError } from "../../../errors.ts";
import { bindFunctions, openLibrary, type Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative } from "../../../platform/native/memory.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import type { Dimension } from "../../../tensor/signature/signature.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { ELEMENT_TYPES, fromDType, toDType } from "../element-types.ts";
import type { Port, PortRole } from "../engine.ts";
import { toDimension } from "../partial-shape.ts";
import {
  check,
  ElementCodes,
  type NativeContext,
  type OpenvinoApi,
  takeNumber,
  takePointer,
  takeText,
} from "./c-api.ts";

const FUNCTIONS = {
  inputs: ["ov_model_inputs_size", "ov_model_const_input_by_index", "ov_model_const_input_by_name"],
  outputs: ["ov_model_outputs_size", "ov_model_const_output_by_index", "ov_model_const_output_by_name"],
} as const;

/** Reads something of each input or output of a model. */
export function readPorts<Value>(
  api: OpenvinoApi,
  model: Pointer,
  role: PortRole,
  read: (port: Pointer) => Value,
): Value[] {
  const [size, byIndex] = FUNCTIONS[role];
  const count = takeNumber(api, (at) => api[size](model, at));
  return Array.from({ length: count }, (_, index) => withPort(api, (at) => api[byIndex](model, index, at), read));
}

/** Reads the facts about an input or output. */
export function readPort(api: OpenvinoApi, codes: ElementCodes, port: Pointer): Port {
  const code = new Int32Array(1);
  check(api, api.ov_port_get_element_type(port, code));
  const shape = readPartialShape(api, port);
  return { name: readPortName(api, port), elementType: codes.name(code[0]!), ...(shape && { shape }) };
}

/** One of the names of a port's tensor; undefined if it has none. */
function readPortName(api: OpenvinoApi, port: Pointer): string | undefined {
  try {
    return takeText(api, (at) => api.ov_port_get_any_name(port, at));
  } catch {
    return undefined;
  }
}

/** Checks that a model has a tensor of this name. */
export function hasPort(api: OpenvinoApi, model: Pointer, role: PortRole, name: string): boolean {
  const [, , byName] = FUNCTIONS[role];
  const at = new BigUint64Array(1);
  if (api[byName](model, name, at) !== 0) return false;
  api.ov_output_const_port_free(at[0]!);
  return true;
}

/** The one name of the tensor that a name finds. */
export function nameByAlias(api: OpenvinoApi, model: Pointer, role: PortRole, alias: string): string | undefined {
  const [, , byName] = FUNCTIONS[role];
  return withPort(
    api,
    (at) => api[byName](model, alias, at),
    (port) => readPortName(api, port),
  );
}

function withPort<Value>(
  api: OpenvinoApi,
  find: (at: BigUint64Array) => number,
  read: (port: Pointer) => Value,
): Value {
  const port = takePointer(api, find);
  try {
    return read(port);
  } finally {
    api.ov_output_const_port_free(port);
  }
}

/** ov_partial_shape_t: the rank's bounds, the address of pairs of bounds. */
function readPartialShape(api: OpenvinoApi, port: Pointer): Dimension[] | undefined {
  const shape = new BigInt64Array(3);
  check(api, api.ov_port_get_partial_shape(port, shape));
  const [min, max, dims] = shape as unknown as [bigint, bigint, bigint];
  try {
    if (min !== max) return undefined;
    const bounds = copyFromNative(new BigInt64Array(2 * Number(min)), dims);
    return Array.from({ length: Number(min) }, (_, axis) =>
      toDimension(Number(bounds[2 * axis]), Number(bounds[2 * axis + 1])),
    );
  } finally {
    api.ov_partial_shape_free(shape);
  }
}

/** Answers of the libraries that this thread has opened. */
const answers = new WeakMap<OpenvinoApi, ElementCodes>();

/** Asks the library itself, by a model with an input of each type, once. */
export function askElementCodes(api: OpenvinoApi, core: Pointer): ElementCodes {
  const codes = answers.get(api) ?? askAll(api, core);
  answers.set(api, codes);
  return codes;
}

/** Releases that do not know all types are queried for each type. */
function askAll(api: OpenvinoApi, core: Pointer): ElementCodes {
  try {
    return new ElementCodes(ask(api, core, ELEMENT_TYPES));
  } catch {
    return new ElementCodes(new Map(ELEMENT_TYPES.flatMap((name) => [...askOne(api, core, name)])));
  }
}

function askOne(api: OpenvinoApi, core: Pointer, name: string): ReadonlyMap<string, number> {
  try {
    return ask(api, core, [name]);
  } catch {
    return new Map();
  }
}

function ask(api: OpenvinoApi, core: Pointer, names: readonly string[]): ReadonlyMap<string, number> {
  const text = Buffer.from(modelOf(names));
  const model = takePointer(api, (at) => api.ov_core_read_model_from_memory_buffer(core, text, text.length, null, at));
  try {
    return new Map(
      readPorts(api, model, "inputs", (port) => {
        const code = new Int32Array(1);
        api.ov_port_get_element_type(port, code);
        return [readPortName(api, port) ?? "", code[0] ?? -1] as const;
      }),
    );
  } finally {
    api.ov_model_free(model);
  }
}

/** An IR of version 11 whose inputs are named after their types. */
function modelOf(names: readonly string[]): string {
  const layers = names.map((name, index) => layersOf(name, index * 2)).join("");
  const edges = names.map(
    (_, index) => `<edge from-layer="${index * 2}" from-port="0" to-layer="${index * 2 + 1}" to-port="0"/>`,
  );
  return `<?xml version="1.0"?><net name="types" version="11"><layers>${layers}</layers><edges>${edges.join("")}</edges></net>`;
}

function layersOf(name: string, id: number): string {
  const port = `precision="${precisionOf(name)}"`;
  return `<layer id="${id}" name="${name}" type="Parameter" version="opset1"><data shape="1" element_type="${name}"/>
<output><port id="0" ${port} names="${name}"><dim>1</dim></port></output></layer>
<layer id="${id + 1}" name="${name}_result" type="Result" version="opset1"><input><port id="0" ${port}><dim>1</dim></port></input></layer>`;
}

/** The old names that ports go by. */
function precisionOf(name: string): string {
  if (name === "boolean") return "BOOL";
  return /^f(16|32|64)$/.test(name) ? `FP${name.slice(1)}` : name.toUpperCase();
}

/** Status of ov_tensor_get_shape for rank 0. */
const NO_DIMENSIONS = -14;
/** Memory for a tensor without elements. */
const NOTHING = new Uint8Array(64);

/**
 * An ov_tensor_t that views a tensor's memory, for {@link OpenvinoApi.ov_tensor_free}: the tensor must not move as long
 * as it lives. Strings are copied.
 */
export function toNativeTensor({ api, codes }: NativeContext, tensor: Tensor): Pointer {
  const { dtype, shape } = tensor;
  const code = codes.code(fromDType(dtype) ?? "");
  const native = { rank: shape.length, dims: shape.length === 0 ? null : BigInt64Array.from(shape, BigInt) };
  if (tensor.dtype !== "bytes") {
    const data = tensor.data.byteLength === 0 ? NOTHING : tensor.data;
    return takePointer(api, (at) => api.ov_tensor_create_from_host_ptr(code, native, data, at));
  }
  const pointer = takePointer(api, (at) => api.ov_tensor_create(code, native, at));
  try {
    writeStrings(api, pointer, tensor.data);
    return pointer;
  } catch (reason) {
    api.ov_tensor_free(pointer);
    throw reason;
  }
}

/** A copy of an output's ov_tensor_t, in its own memory. */
export function fromNativeTensor({ api }: NativeContext, pointer: Pointer, { elementType, shape }: Port): Tensor {
  const dtype = toDType(elementType, "The output");
  const dims = isStatic(shape) ? [...shape] : readShape(api, pointer);
  const count = elementCount(dims);
  if (dtype === "bytes") return createTensor("bytes", dims, readStrings(api, pointer, count));
  const { array, slots } = numericLayout(dtype as NumericDType);
  const data = allocate(() => new array(count * slots), dims);
  if (count > 0)
    copyFromNative(
      data,
      takePointer(api, (at) => api.ov_tensor_data(pointer, at)),
    );
  return createTensor(dtype, dims, data as never);
}

function isStatic(shape: Port["shape"]): shape is readonly number[] {
  return shape?.every((dimension) => typeof dimension === "number" && dimension >= 0) ?? false;
}

function readShape(api: OpenvinoApi, pointer: Pointer): number[] {
  // ov_shape_t: the rank, the dimensions' address.
  const shape = new BigInt64Array(2);
  const status = api.ov_tensor_get_shape(pointer, shape);
  if (status === NO_DIMENSIONS) return [];
  check(api, status);
  const [rank, address] = shape as unknown as [bigint, bigint];
  const dims = Array.from(copyFromNative(new BigInt64Array(Number(rank)), address), Number);
  api.ov_shape_free(shape);
  return dims;
}

function allocate<Data>(make: () => Data, shape: readonly number[]): Data {
  try {
    return make();
  } catch (cause) {
    const message = `There is no memory for an output of shape [${shape}].`;
    throw new ServingError("resource_exhausted", message, { cause });
  }
}

/** Bytes of a std::string of libstdc++: the address of its bytes, their number, and room for a short text. */
const STRING_BYTES = 32;
/** `std::string::assign(const char *, size_t)`, as libstdc++ exports it. */
const ASSIGN = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKcm";

let assign: ReturnType<typeof bindAssign> | undefined;

function bindAssign() {
  const table = { [ASSIGN]: ["void *", "void *", "void *", "size_t"] } as const;
  return bindFunctions(openLibrary("libstdc++.so.6"), table, "The C++ library")[ASSIGN];
}

/**
 * Puts texts into a tensor of strings, which are std::string objects. OpenVINO's C API
 * takes texts that end in zero, so that bytes with zeros would be cut; their own
 * function does not. Throws `unimplemented` if they are not libstdc++'s.
 */
function writeStrings(api: OpenvinoApi, tensor: Pointer, strings: readonly Uint8Array[]): void {
  if (strings.length === 0) return;
  const first = firstString(api, tensor, strings.length);
  assign ??= bindAssign();
  for (const [index, bytes] of strings.entries()) assign(first + BigInt(index * STRING_BYTES), bytes, bytes.length);
}

/** Copies of the texts in a tensor of strings. */
function readStrings(api: OpenvinoApi, tensor: Pointer, count: number): Uint8Array[] {
  if (count === 0) return [];
  const words = new BigUint64Array((count * STRING_BYTES) / 8);
  copyFromNative(words, firstString(api, tensor, count));
  return Array.from({ length: count }, (_, index) => {
    const [address = 0n, length = 0n] = words.subarray((index * STRING_BYTES) / 8);
    return copyFromNative(new Uint8Array(Number(length)), address);
  });
}

function firstString(api: OpenvinoApi, tensor: Pointer, count: number): Pointer {
  const bytes = takeNumber(api, (at) => api.ov_tensor_get_byte_size(tensor, at));
  if (process.platform !== "linux" || bytes !== count * STRING_BYTES) throw notKnown();
  return takePointer(api, (at) => api.ov_tensor_data(tensor, at));
}

function notKnown(): ServingError {
  return new ServingError(
    "unimplemented",
    "Tensors of strings are served on Linux with OpenVINO 2026.0 or later; elsewhere they lie in memory in another way.",
  );
}
