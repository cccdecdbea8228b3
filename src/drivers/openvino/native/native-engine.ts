import { NativeObject, type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, readText } from "../../../platform/native/memory.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../../storage/runtimes/find-library.ts";
import { openvino } from "../../../storage/runtimes/native-runtimes.ts";
import type { DriverHost } from "../../driver.ts";
import type { Network, NetworkFiles, OpenvinoCore, OpenvinoEngine } from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import {
  check,
  type NativeContext,
  type OpenvinoApi,
  openOpenvino,
  readVersion,
  takePointer,
  takeText,
} from "./c-api.ts";
import { NativeNetwork } from "./native-network.ts";
import { askElementCodes } from "./ports.ts";

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
