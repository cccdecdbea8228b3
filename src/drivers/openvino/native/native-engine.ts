import { findLibrary, lookedIn, missingRuntime } from "../../../runtimes/find-library.ts";
import { openvino } from "../../../runtimes/native-runtimes.ts";
import type { DriverHost } from "../../driver.ts";
import type { OpenvinoCore, OpenvinoEngine } from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import { NativeCore } from "./native-core.ts";
import { openOpenvino } from "./open-openvino.ts";

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
