import { type Pointer, runAsync } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import { NativeObject } from "../../../native/native-object.ts";
import { readText } from "../../../native/read-text.ts";
import type { Network, NetworkFiles, OpenvinoCore } from "../engine.ts";
import { askElementCodes } from "./ask-element-codes.ts";
import type { OpenvinoApi } from "./c-api.ts";
import type { NativeContext } from "./native-context.ts";
import { NativeNetwork } from "./native-network.ts";
import { readVersion } from "./open-openvino.ts";
import { check, takePointer, takeText } from "./status.ts";

/** ov_core_t. */
export class NativeCore implements OpenvinoCore {
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
