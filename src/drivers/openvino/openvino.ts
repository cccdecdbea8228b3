import { DEFAULT_SIGNATURE } from "../../signature/signature.ts";
import { type DriverHost, defineDriver, type Model } from "../driver.ts";
import { chooseEngine } from "./choose-engine.ts";
import { parseDevice } from "./devices.ts";
import type { OpenvinoCore } from "./engine.ts";
import { addExtensions } from "./extensions.ts";
import { createHookArgs } from "./hook-args.ts";
import { importEngine } from "./import-engine.ts";
import { toLoadError } from "./load-error.ts";
import { loadNetwork } from "./load-network.ts";
import { findModelSource } from "./model-source.ts";
import { OPENVINO_OPTIONS, type OpenvinoOptions } from "./openvino-options.ts";
import { PluginNetworks } from "./plugin-networks.ts";
import { setProperties } from "./properties.ts";

/** The oldest release that the tests run. */
const OLDEST_TESTED = 2026;

/** Runs OpenVINO's own models, and those of the formats that it reads, on the devices that it has. */
export default defineDriver<OpenvinoOptions>({
  name: "openvino",
  options: OPENVINO_OPTIONS,
  convertsInputs: true,
  detect: (path) => /\.xml$/i.test(path),
  load: async (path, options, host) => {
    // Before the runtime, so that a wrong path is reported even where the runtime is missing too.
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
