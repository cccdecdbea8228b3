import type { DriverHost } from "../../driver.ts";
import type { OpenvinoCore, OpenvinoEngine } from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import { findAddon, loadAddon } from "./load-addon.ts";
import { NodeCore } from "./node-core.ts";

/** OpenVINO by the npm package openvino-node. */
const engine: OpenvinoEngine = { open };
export default engine;

async function open({ openvino_lib }: OpenvinoOptions, { log }: DriverHost): Promise<OpenvinoCore> {
  const found = findAddon(openvino_lib);
  const addon = loadAddon(found);
  const core = new NodeCore(addon, found?.version ?? "");
  log.info("OpenVINO is loaded", { version: core.version, devices: core.devices, path: found?.folder });
  return core;
}
