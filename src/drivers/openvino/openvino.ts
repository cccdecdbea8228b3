import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { findLibrary } from "../../storage/runtimes/find-library.ts";
import { openvino } from "../../storage/runtimes/native-runtimes.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { DEFAULT_SIGNATURE, type Signature } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { type DriverHost, defineDriver, type Model } from "../driver.ts";
import { shapesByName } from "../shapes-by-name.ts";
import type { OpenvinoCore, OpenvinoEngine } from "./engine.ts";
import { loadNetwork } from "./load-network.ts";
import { findModelSource } from "./model-source.ts";
import { findAddon, takesThisNode } from "./node/addon-api.ts";
import { failureText, toLoadError } from "./openvino-failure.ts";
import { type EngineName, OPENVINO_OPTIONS, type OpenvinoOptions } from "./openvino-options.ts";
import { addExtensions, type DeviceChoice, parseDevice, setProperties } from "./properties.ts";
import type { ServedNetwork } from "./served-network.ts";

/** The oldest release that the tests run. */
const OLDEST_TESTED = 2026;

/** Runs OpenVINO's own models, and those of the formats that it reads, on the devices that it has. */
export default defineDriver<OpenvinoOptions>({
  name: "openvino",
  options: OPENVINO_OPTIONS,
  convertsInputs: true,
  detect: (path) => /\.xml$/i.test(path),
  load: async (path, options, host) => {
    // Before the runtime, so that a wrong path is reported even if the runtime is missing too.
    const { ir } = findModelSource(path, options.model_weights);
    const core = await (await importEngine(chooseEngine(options))).open(options, host);
    try {
      const model = await loadModel(path, { core, options, host });
      return ir?.modelInfo === undefined ? model : { ...model, modelInfo: ir.modelInfo };
    } catch (reason) {
      core.release();
      throw toLoadError(reason, { path, version: core.version, device: options.device });
    }
  },
});

interface Loading {
  readonly core: OpenvinoCore;
  readonly options: OpenvinoOptions;
  readonly host: DriverHost;
}

async function loadModel(path: string, { core, options, host }: Loading): Promise<Model> {
  const { log, threads, reportStuck } = host;
  if (Number.parseInt(core.version, 10) < OLDEST_TESTED)
    log.warn(`OpenVINO ${core.version} is older than ${OLDEST_TESTED}.0, the oldest that this version was tested with`);
  const device = parseDevice(options.device, core.devices);
  if (options.extension !== undefined) addExtensions(core, options.extension);
  setProperties(core, device, { options, threads });
  const place = { core, device: device.name, log, reportStuck };
  const network = await loadNetwork(path, options, place);
  const plain = withoutModel(options);
  const others = new PluginNetworks((other, weights) =>
    loadNetwork(other, { ...plain, ...(weights !== undefined && { model_weights: weights }) }, place),
  );
  return {
    signatures: { [DEFAULT_SIGNATURE]: network.signature },
    runtime: `OpenVINO ${core.version}`,
    isPure: network.isPure,
    keepsThread: true,
    concurrency: network.concurrency,
    hookArgs: createHookArgs({ core, device, network, others }),
    predict: (inputs, { outputs, signal, isTrial }) => network.run(inputs, { outputs, signal, isTrial }),
    renewals: () => network.renewals + others.renewals,
    close: async () => {
      await Promise.all([network.close(), others.close()]);
      core.release();
    },
  };
}

/** Options for other models, without those of the stage's own model. */
function withoutModel({ engine, device, state, ...options }: OpenvinoOptions): OpenvinoOptions {
  const { inference_threads, inference_precision, cpu_pinning } = options;
  return { engine, device, state, inference_threads, inference_precision, cpu_pinning };
}

/** Chooses the engine: the one of the option, else the C library, else openvino-node if that alone is there. */
export function chooseEngine({ engine, openvino_lib }: OpenvinoOptions): EngineName {
  if (engine !== "auto") return engine;
  if (findLibrary(openvino, openvino_lib) !== undefined) return "native";
  const addon = findAddon();
  return addon?.isComplete && takesThisNode(addon) ? "node" : "native";
}

const ENGINES = {
  native: () => import("./native/native-engine.ts"),
  node: () => import("./node/node-engine.ts"),
} as const satisfies Readonly<Record<EngineName, () => Promise<{ default: OpenvinoEngine }>>>;

/** Imports an engine's code. */
async function importEngine(name: EngineName): Promise<OpenvinoEngine> {
  return (await ENGINES[name]()).default;
}

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
interface HookParts {
  readonly core: OpenvinoCore;
  readonly device: DeviceChoice;
  readonly network: ServedNetwork;
  readonly others: PluginNetworks;
}

/** The third argument of hooks. */
function createHookArgs({ core, device, network, others }: HookParts): Readonly<Record<string, unknown>> {
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

/** Models that hooks have loaded in addition to the stage's own, by the names that the hooks chose. */
class PluginNetworks {
  readonly #networks = new Map<string, ServedNetwork>();
  readonly #load: (path: string, weights: string | undefined) => Promise<ServedNetwork>;

  constructor(load: (path: string, weights: string | undefined) => Promise<ServedNetwork>) {
    this.#load = load;
  }

  /** Loads a model, in the place of one that has the name. */
  async load(name: string, path: string, weights?: string): Promise<Required<Pick<Signature, "inputs" | "outputs">>> {
    if (typeof name !== "string" || typeof path !== "string")
      throw invalidArgument('plugin.load takes a name and a path: plugin.load("eyes", "eyes.xml").');
    const network = await this.#load(path, weights);
    const former = this.#networks.get(name);
    this.#networks.set(name, network);
    await former?.close();
    return network.signature;
  }

  /** The model of a name; throws `failed_precondition` for one that was not loaded. */
  get(name: string): ServedNetwork {
    const network = this.#networks.get(name);
    if (network !== undefined) return network;
    const known = [...this.#networks.keys()];
    const message = `No model "${name}" was loaded with plugin.load.${didYouMean(name, known)}`;
    throw failedPrecondition(message);
  }

  /** As {@link ServedNetwork.renewals}, of all models that are loaded. */
  get renewals(): number {
    return [...this.#networks.values()].reduce((sum, { renewals }) => sum + renewals, 0);
  }

  /** Frees a model; throws as {@link get}. */
  async unload(name: string): Promise<void> {
    const network = this.get(name);
    this.#networks.delete(name);
    await network.close();
  }

  /** Frees all. */
  async close(): Promise<void> {
    await Promise.all([...this.#networks.values()].map((network) => network.close()));
    this.#networks.clear();
  }
}
