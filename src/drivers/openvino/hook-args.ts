import { invalidArgument } from "../../errors.ts";
import type { Signature } from "../../signature/signature.ts";
import type { Values } from "../../tensor/plain-value.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { shapesByName } from "../shapes-by-name.ts";
import type { DeviceChoice } from "./devices.ts";
import type { OpenvinoCore } from "./engine.ts";
import { failureText } from "./openvino-failure.ts";
import type { PluginNetworks } from "./plugin-networks.ts";
import type { ServedNetwork } from "./served-network.ts";

/** The `exec_net` of hooks: the compiled model. */
interface ExecNetHandle {
  /** Runs the model; plain values become tensors of the dtype that the input has. Gives the outputs named, or all. */
  infer(inputs: Values, outputs?: readonly string[]): Promise<Tensors>;
  /** A setting that the device has chosen, such as NUM_STREAMS. */
  get_property(key: string): Promise<string>;
}

/**
 * The `plugin` of hooks: the device, which takes more models. They are called by names that the hook gives them, and
 * belong to the stage.
 */
interface PluginHandle {
  readonly device: string;
  readonly available_devices: readonly string[];
  /** Loads a model of any format on the same device; loading another one under its name replaces it. */
  load(name: string, path: string, weights?: string): Promise<Required<Pick<Signature, "inputs" | "outputs">>>;
  infer(name: string, inputs: Values, outputs?: readonly string[]): Promise<Tensors>;
  unload(name: string): Promise<void>;
}

/** Parts of the stage's third hook argument. */
export interface HookParts {
  readonly core: OpenvinoCore;
  readonly device: DeviceChoice;
  readonly network: ServedNetwork;
  readonly others: PluginNetworks;
}

/** The third argument of hooks. */
export function createHookArgs({ core, device, network, others }: HookParts): Readonly<Record<string, unknown>> {
  const execNet: ExecNetHandle = {
    infer: (inputs, outputs) => network.runValues(inputs, outputs),
    get_property: async (key) => readProperty(network, key),
  };
  const plugin: PluginHandle = {
    device: device.name,
    available_devices: core.devices,
    load: (name, path, weights) => others.load(name, path, weights),
    infer: async (name, inputs, outputs) => others.get(name).runValues(inputs, outputs),
    unload: (name) => others.unload(name),
  };
  const { inputs, outputs } = network.signature;
  return {
    driver: "openvino",
    exec_net: execNet,
    plugin,
    model_inputs: shapesByName(inputs),
    model_outputs: outputs.map(({ name }) => name),
  };
}

function readProperty(network: ServedNetwork, key: string): string {
  try {
    return network.property(key);
  } catch (cause) {
    throw invalidArgument(`There is no property "${key}": ${failureText(cause)}.`, cause);
  }
}
