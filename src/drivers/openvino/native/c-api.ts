import { ServingError } from "../../../errors.ts";
import {
  bindFunctions,
  defineStruct,
  type NativeFunctions,
  openLibrary,
  type Pointer,
  pointerTo,
  type SignatureTable,
} from "../../../platform/native/bind-functions.ts";
import { readText } from "../../../platform/native/memory.ts";
import { OpenvinoFailure, type OpenvinoFailureKind } from "../openvino-failure.ts";

/** ov_shape_t. */
const SHAPE = defineStruct<{ rank: number; dims: BigInt64Array | null }>({ rank: "int64_t", dims: "void *" });

/** ov_partial_shape_t: the rank's bounds, then pairs of bounds by dimension. */
export interface NativePartialShape {
  readonly min: number;
  readonly max: number;
  readonly dims: BigInt64Array;
}

const PARTIAL_SHAPE = defineStruct<NativePartialShape>({ min: "int64_t", max: "int64_t", dims: "void *" });

/**
 * The functions of OpenVINO's C API that we call: https://docs.openvino.ai/2026/api/c_cpp_api/group__ov__c__api.html. A
 * function of result int returns a status; pointers at an argument's address belong to the caller.
 */
const C_API = {
  ov_get_openvino_version: ["int", "void *"],
  ov_version_free: ["void", "void *"],
  ov_get_error_info: ["str", "int"],
  ov_get_last_err_msg: ["void *"],
  ov_free: ["void", "void *"],

  ov_core_create: ["int", "void *"],
  ov_core_free: ["void", "void *"],
  ov_core_get_available_devices: ["int", "void *", "void *"],
  ov_available_devices_free: ["void", "void *"],
  ov_core_get_property: ["int", "void *", "str", "str", "void *"],
  ov_core_set_property: ["int", "void *", "str", "..."],
  ov_core_add_extension: ["int", "void *", "str"],
  ov_core_read_model: ["int", "void *", "str", "str", "void *"],
  ov_core_read_model_from_memory_buffer: ["int", "void *", "void *", "size_t", "void *", "void *"],
  // Variadic in C; without properties, which the core has already, nothing variable is
  // passed and it can run in another thread.
  ov_core_compile_model: ["int", "void *", "void *", "str", "size_t", "void *"],

  ov_model_free: ["void", "void *"],
  ov_model_inputs_size: ["int", "void *", "void *"],
  ov_model_outputs_size: ["int", "void *", "void *"],
  ov_model_const_input_by_index: ["int", "void *", "size_t", "void *"],
  ov_model_const_output_by_index: ["int", "void *", "size_t", "void *"],
  ov_model_const_input_by_name: ["int", "void *", "str", "void *"],
  ov_model_const_output_by_name: ["int", "void *", "str", "void *"],
  ov_model_reshape_by_port_indexes: ["int", "void *", "void *", pointerTo(PARTIAL_SHAPE), "size_t"],

  ov_layout_create: ["int", "str", "void *"],
  ov_layout_free: ["void", "void *"],
  ov_preprocess_prepostprocessor_create: ["int", "void *", "void *"],
  ov_preprocess_prepostprocessor_get_input_info_by_index: ["int", "void *", "size_t", "void *"],
  ov_preprocess_prepostprocessor_build: ["int", "void *", "void *"],
  ov_preprocess_prepostprocessor_free: ["void", "void *"],
  ov_preprocess_input_info_get_tensor_info: ["int", "void *", "void *"],
  ov_preprocess_input_info_get_model_info: ["int", "void *", "void *"],
  ov_preprocess_input_info_free: ["void", "void *"],
  ov_preprocess_input_tensor_info_set_layout: ["int", "void *", "void *"],
  ov_preprocess_input_tensor_info_free: ["void", "void *"],
  ov_preprocess_input_model_info_set_layout: ["int", "void *", "void *"],
  ov_preprocess_input_model_info_free: ["void", "void *"],

  ov_port_get_any_name: ["int", "void *", "void *"],
  ov_port_get_element_type: ["int", "void *", "void *"],
  ov_port_get_partial_shape: ["int", "void *", "void *"],
  ov_partial_shape_free: ["void", "void *"],
  ov_output_const_port_free: ["void", "void *"],

  ov_compiled_model_create_infer_request: ["int", "void *", "void *"],
  ov_compiled_model_get_property: ["int", "void *", "str", "void *"],
  ov_compiled_model_free: ["void", "void *"],

  ov_tensor_create: ["int", "int", SHAPE, "void *"],
  ov_tensor_create_from_host_ptr: ["int", "int", SHAPE, "void *", "void *"],
  ov_tensor_get_shape: ["int", "void *", "void *"],
  ov_shape_free: ["int", "void *"],
  ov_tensor_get_byte_size: ["int", "void *", "void *"],
  ov_tensor_data: ["int", "void *", "void *"],
  ov_tensor_free: ["void", "void *"],

  ov_infer_request_set_input_tensor_by_index: ["int", "void *", "size_t", "void *"],
  ov_infer_request_get_output_tensor_by_index: ["int", "void *", "size_t", "void *"],
  ov_infer_request_infer: ["int", "void *"],
  ov_infer_request_start_async: ["int", "void *"],
  ov_infer_request_wait: ["int", "void *"],
  ov_infer_request_cancel: ["int", "void *"],
  ov_infer_request_free: ["void", "void *"],
} as const satisfies SignatureTable;

/** libopenvino_c, opened. */
export type OpenvinoApi = NativeFunctions<typeof C_API>;

/** Values of ov_status_e that add something to OpenVINO's text. */
const KINDS: Readonly<Record<number, OpenvinoFailureKind>> = { [-13]: "cancelled" };

/** Throws {@link OpenvinoFailure}, with OpenVINO's text, for a status other than success. */
export function check(api: OpenvinoApi, status: number, kind: OpenvinoFailureKind = "failed"): void {
  if (status === 0) return;
  throw new OpenvinoFailure(KINDS[status] ?? kind, `${lastMessage(api) || api.ov_get_error_info(status)}`);
}

/** The pointer that a function writes to its last argument. */
export function takePointer(api: OpenvinoApi, call: (at: BigUint64Array) => number): Pointer {
  const at = new BigUint64Array(1);
  check(api, call(at));
  const [pointer] = at as unknown as [Pointer];
  if (pointer === 0n) throw new ServingError("internal", "OpenVINO reports success and gives nothing.");
  return pointer;
}

/** The number that a function writes to its last argument. */
export function takeNumber(api: OpenvinoApi, call: (at: BigUint64Array) => number): number {
  const at = new BigUint64Array(1);
  check(api, call(at));
  return Number(at[0]);
}

/** The text that a function allocates. */
export function takeText(api: OpenvinoApi, call: (at: BigUint64Array) => number): string {
  const pointer = takePointer(api, call);
  const text = readText(pointer);
  api.ov_free(pointer);
  return text;
}

/** The last error of the whole process: if two calls fail at once, it may be the other call's. */
function lastMessage(api: OpenvinoApi): string {
  const pointer = api.ov_get_last_err_msg();
  if (pointer === null) return "";
  const text = readText(pointer);
  api.ov_free(pointer);
  return text;
}

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, OpenvinoApi>();

/** Opens libopenvino_c; throws `failed_precondition` for a file that does not load or lacks functions. */
export function openOpenvino(path: string): OpenvinoApi {
  const known = opened.get(path);
  if (known !== undefined) return known;
  const api = bindFunctions(openLibrary(path), C_API, `The OpenVINO library "${path}"`);
  opened.set(path, api);
  return api;
}

/** `2026.4.1-22982-abcdef-releases/2026/4` → `2026.4.1`. */
export function readVersion(api: OpenvinoApi): string {
  // ov_version_t: the addresses of build number and description.
  const version = new BigUint64Array(2);
  check(api, api.ov_get_openvino_version(version));
  const build = readText(version[0]!);
  api.ov_version_free(version);
  return build.split("-", 1)[0]!;
}

/** The numbers of element types, which differ between releases. */
export class ElementCodes {
  readonly #names: ReadonlyMap<number, string>;
  readonly #codes: ReadonlyMap<string, number>;

  constructor(codes: ReadonlyMap<string, number>) {
    this.#codes = codes;
    this.#names = new Map([...codes].map(([name, code]) => [code, name]));
  }

  /** OpenVINO's name for a number. */
  name(code: number): string {
    return this.#names.get(code) ?? `number ${code}`;
  }

  /** The number of a type that this release has; -1 for another. */
  code(name: string): number {
    return this.#codes.get(name) ?? -1;
  }
}

/** Parts that all objects of one core share. */
export interface NativeContext {
  readonly api: OpenvinoApi;
  readonly core: Pointer;
  readonly codes: ElementCodes;
}
