import { NativeObject, type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, readText } from "../../../platform/native/memory.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../../storage/runtimes/find-library.ts";
import { openvino } from "../../../storage/runtimes/native-runtimes.ts";
import type { Dimension } from "../../../tensor/signature/signature.ts";
import type { DriverHost } from "../../driver.ts";
import type {
  CompiledNetwork,
  LayoutChange,
  Network,
  NetworkFiles,
  OpenvinoCore,
  OpenvinoEngine,
  Port,
  PortRole,
} from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import {
  check,
  type NativeContext,
  type NativePartialShape,
  type OpenvinoApi,
  openOpenvino,
  readVersion,
  takePointer,
  takeText,
} from "./c-api.ts";
import { NativeCompiled } from "./native-compiled.ts";
import { askElementCodes, hasPort, nameByAlias, readPort, readPorts } from "./ports.ts";

/** OpenVINO by its C library. */
const engine: OpenvinoEngine = { open };
export default engine;

async function open({ openvino_lib }: OpenvinoOptions, { log }: DriverHost): Promise<OpenvinoCore> {
  const library = findLibrary(openvino, openvino_lib);
  if (library === undefined) {
    const { name, title } = openvino;
    throw missingRuntime({ name, title, looked: lookedIn(openvino) });
  }
  const core = new NativeCore(openOpenvino(library.path));
  log.info("OpenVINO is loaded", { version: core.version, devices: core.devices, ...library });
  return core;
}

/** ov_core_t. */
class NativeCore implements OpenvinoCore {
  readonly version: string;
  readonly devices: readonly string[];
  readonly #context: NativeContext;
  readonly #core: NativeObject;

  constructor(api: OpenvinoApi) {
    const core = takePointer(api, (at) => api.ov_core_create(at));
    this.#core = new NativeObject(core, api.ov_core_free);
    this.version = readVersion(api);
    this.devices = readDevices(api, core);
    this.#context = { api, core, codes: askElementCodes(api, core) };
  }

  supportedProperties(device: string): readonly string[] {
    const { api, core } = this.#context;
    return takeText(api, (at) => api.ov_core_get_property(core, device, "SUPPORTED_PROPERTIES", at)).split(" ");
  }

  setProperty(device: string, key: string, value: string): void {
    const { api, core } = this.#context;
    check(api, api.ov_core_set_property(core, device, "str", key, "str", value));
  }

  addExtension(path: string): void {
    const { api, core } = this.#context;
    check(api, api.ov_core_add_extension(core, path));
  }

  async readNetwork({ path, weights }: NetworkFiles, device: string): Promise<Network> {
    const { api, core } = this.#context;
    const at = new BigUint64Array(1);
    check(api, await runAsync(api.ov_core_read_model, core, path, weights ?? null, at));
    return new NativeNetwork(this.#context, at[0]!, device);
  }

  release(): void {
    this.#core.release();
  }
}

/** ov_available_devices_t: the address of texts' addresses, their number. */
function readDevices(api: OpenvinoApi, core: Pointer): string[] {
  const devices = new BigUint64Array(2);
  check(api, api.ov_core_get_available_devices(core, devices));
  const [texts, count] = devices as unknown as [bigint, bigint];
  const names = Array.from(copyFromNative(new BigUint64Array(Number(count)), texts), readText);
  api.ov_available_devices_free(devices);
  return names;
}

/** ov_model_t. */
class NativeNetwork implements Network {
  readonly #context: NativeContext;
  #model: NativeObject;
  readonly #device: string;
  #inputs: readonly Port[];
  #outputs: readonly Port[];

  /** Takes over the model. */
  constructor(context: NativeContext, model: Pointer, device: string) {
    this.#context = context;
    this.#device = device;
    this.#model = new NativeObject(model, context.api.ov_model_free);
    this.#inputs = this.#readPorts("inputs");
    this.#outputs = this.#readPorts("outputs");
  }

  get inputs(): readonly Port[] {
    return this.#inputs;
  }

  get outputs(): readonly Port[] {
    return this.#outputs;
  }

  find(role: PortRole, name: string): number | undefined {
    const names = this[role].map((port) => port.name);
    if (names.includes(name)) return names.indexOf(name);
    const { api } = this.#context;
    const model = this.#model.pointer;
    if (!hasPort(api, model, role, name)) return undefined;
    const index = names.indexOf(nameByAlias(api, model, role, name));
    return index === -1 ? undefined : index;
  }

  reshape(shapes: ReadonlyMap<number, readonly Dimension[]>): void {
    const { api } = this.#context;
    // The C API gives a scalar another rank; it has no other shape anyway.
    const isScalar = ([place, shape]: readonly [number, readonly Dimension[]]) =>
      shape.length === 0 && this.#inputs[place]?.shape?.length === 0;
    const changes = [...shapes].filter((entry) => !isScalar(entry));
    if (changes.length === 0) return;
    const places = BigUint64Array.from(changes, ([place]) => BigInt(place));
    const partial = changes.map(([, shape]) => toPartialShape(shape));
    check(api, api.ov_model_reshape_by_port_indexes(this.#model.pointer, places, partial, partial.length));
    this.#inputs = this.#readPorts("inputs");
    this.#outputs = this.#readPorts("outputs");
  }

  changeLayouts(changes: ReadonlyMap<number, LayoutChange>): void {
    const { api } = this.#context;
    const former = this.#model;
    this.#model = new NativeObject(changeLayouts(api, former.pointer, changes), api.ov_model_free);
    former.release();
    this.#inputs = this.#readPorts("inputs");
  }

  async compile({ hasBoundedRuns }: { readonly hasBoundedRuns: boolean }): Promise<CompiledNetwork> {
    const { api, core } = this.#context;
    const at = new BigUint64Array(1);
    check(api, await runAsync(api.ov_core_compile_model, core, this.#model.pointer, this.#device, 0, at));
    return new NativeCompiled(this.#context, at[0]!, { outputs: this.#outputs, hasBoundedRuns });
  }

  release(): void {
    this.#model.release();
  }

  #readPorts(role: PortRole): Port[] {
    const { api, codes } = this.#context;
    return readPorts(api, this.#model.pointer, role, (port) => readPort(api, codes, port));
  }
}

function toPartialShape(shape: readonly Dimension[]): NativePartialShape {
  // OpenVINO copies at least the address; an empty array has none.
  const dims = new BigInt64Array(Math.max(1, 2 * shape.length));
  for (const [axis, dimension] of shape.entries()) dims.set(toBounds(dimension), 2 * axis);
  return { min: shape.length, max: shape.length, dims };
}

function toBounds(dimension: Dimension): [bigint, bigint] {
  if (typeof dimension !== "number") return [BigInt(dimension.min), BigInt(dimension.max)];
  return dimension < 0 ? [0n, -1n] : [BigInt(dimension), BigInt(dimension)];
}

/**
 * A model that takes inputs in other layouts and transposes them; built from the given model, which must not be used
 * any more.
 */
function changeLayouts(api: OpenvinoApi, model: Pointer, changes: ReadonlyMap<number, LayoutChange>): Pointer {
  const steps: Made = {
    make: (at) => api.ov_preprocess_prepostprocessor_create(model, at),
    free: api.ov_preprocess_prepostprocessor_free,
  };
  return withMade(api, steps, (processor) => {
    for (const [place, change] of changes) changeLayout(api, { processor, place, change });
    return takePointer(api, (at) => api.ov_preprocess_prepostprocessor_build(processor, at));
  });
}

interface InputChange {
  readonly processor: Pointer;
  readonly place: number;
  readonly change: LayoutChange;
}

function changeLayout(api: OpenvinoApi, { processor, place, change }: InputChange): void {
  const input: Made = {
    make: (at) => api.ov_preprocess_prepostprocessor_get_input_info_by_index(processor, place, at),
    free: api.ov_preprocess_input_info_free,
  };
  withMade(api, input, (info) => {
    const client: Made = {
      make: (at) => api.ov_preprocess_input_info_get_tensor_info(info, at),
      free: api.ov_preprocess_input_tensor_info_free,
    };
    const model: Made = {
      make: (at) => api.ov_preprocess_input_info_get_model_info(info, at),
      free: api.ov_preprocess_input_model_info_free,
    };
    setLayout(api, client, { set: api.ov_preprocess_input_tensor_info_set_layout, layout: change.client });
    setLayout(api, model, { set: api.ov_preprocess_input_model_info_set_layout, layout: change.model });
  });
}

function setLayout(
  api: OpenvinoApi,
  side: Made,
  { set, layout }: { readonly set: (side: Pointer, layout: Pointer) => number; readonly layout: string },
): void {
  const axes: Made = { make: (at) => api.ov_layout_create(layout, at), free: api.ov_layout_free };
  withMade(api, side, (pointer) => withMade(api, axes, (native) => check(api, set(pointer, native))));
}

/** An object that a function makes for us, and the one that frees it. */
interface Made {
  readonly make: (at: BigUint64Array) => number;
  readonly free: (pointer: Pointer) => unknown;
}

function withMade<Value>(api: OpenvinoApi, { make, free }: Made, use: (pointer: Pointer) => Value): Value {
  const pointer = takePointer(api, make);
  try {
    return use(pointer);
  } finally {
    free(pointer);
  }
}
