import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative } from "../../../platform/native/memory.ts";
import type { Dimension } from "../../../tensor/signature/signature.ts";
import { ELEMENT_TYPES } from "../element-types.ts";
import type { Port, PortRole } from "../engine.ts";
import { toDimension } from "../to-dimension.ts";
import { check, ElementCodes, type OpenvinoApi, takeNumber, takePointer, takeText } from "./c-api.ts";

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
  const shape = readShape(api, port);
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
function readShape(api: OpenvinoApi, port: Pointer): Dimension[] | undefined {
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
