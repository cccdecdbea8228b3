import type { Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import type { Dimension } from "../../../signature/signature.ts";
import type { Port, PortRole } from "../engine.ts";
import { toDimension } from "../to-dimension.ts";
import type { OpenvinoApi } from "./c-api.ts";
import type { ElementCodes } from "./element-codes.ts";
import { check, takeNumber, takePointer, takeText } from "./status.ts";

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

/** One of the names of a port's tensor; undefined where it has none. */
export function readPortName(api: OpenvinoApi, port: Pointer): string | undefined {
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
