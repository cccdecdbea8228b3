import type { Logger } from "../../observability/logger.ts";
import type { CompiledNetwork, Network, OpenvinoCore, Port } from "./engine.ts";
import { applyLayouts } from "./layout-option.ts";
import { toLoadError } from "./load-error.ts";
import { readMappingConfig } from "./mapping-config.ts";
import { findModelSource, type ModelSource } from "./model-source.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";
import { RequestPool } from "./request-pool.ts";
import { ReshapingRunner } from "./reshaping-runner.ts";
import { ServedNetwork } from "./served-network.ts";
import { bindPorts } from "./served-ports.ts";
import { applyShapes } from "./shape-option.ts";

const NARROWED =
  "OpenVINO's CPU plugin computes on 64-bit integers in 32 bits, whatever the operator; greater values are cut";

const STUCK =
  "runs whose requests are over do not end, and leave no room for others; if that goes on for --model-stall, the model is loaded again";

/** Where networks are loaded. */
export interface LoadPlace {
  readonly core: OpenvinoCore;
  /** As OpenVINO takes it; its properties are set. */
  readonly device: string;
  readonly log: Logger;
}

/** Reads, reshapes and compiles a model; throws `failed_precondition`, or `invalid_argument` for an option that does not fit it. */
export async function loadNetwork(path: string, options: OpenvinoOptions, place: LoadPlace): Promise<ServedNetwork> {
  const source = findModelSource(path, options.model_weights);
  try {
    return await load(source, options, place);
  } catch (reason) {
    throw toLoadError(reason, { path, version: place.core.version, device: place.device });
  }
}

async function load(
  source: ModelSource,
  options: OpenvinoOptions,
  { core, device, log }: LoadPlace,
): Promise<ServedNetwork> {
  const network = await core.readNetwork({ path: source.path, weights: source.weights?.path }, device);
  const undo: (() => unknown)[] = [() => network.release()];
  try {
    const layouts = applyLayouts(network, options);
    const anyShape = applyShapes(network, options);
    const mapping = readMappingConfig(source.folder);
    const ports = bindPorts(network, { mapping, layouts, inputs: options.inputs, outputs: options.outputs, anyShape });
    // Other formats may have loops too, but their files are not looked into.
    const hasBoundedRuns = source.ir?.hasLoops === false;
    const compile = async () => createPool(await network.compile({ hasBoundedRuns }), source, { options, log });
    const pool = await compile();
    undo.push(() => pool.close());
    tellOf(network, source, log);
    const traits = { computes: source.ir?.computes !== false, isPure: source.ir?.isStateful !== true };
    if (anyShape) return new ServedNetwork(ports, { runner: new ReshapingRunner(network, compile, pool), ...traits });
    network.release();
    return new ServedNetwork(ports, { runner: pool, ...traits });
  } catch (reason) {
    for (const each of undo.reverse()) await each();
    throw reason;
  }
}

function createPool(
  compiled: CompiledNetwork,
  { ir, path }: ModelSource,
  { options: { state }, log }: { readonly options: OpenvinoOptions; readonly log: Logger },
): RequestPool {
  // Whether a model of another format has state is not known; to reset what is not there costs a little time alone.
  const isStateful = ir?.isStateful ?? state === "reset";
  try {
    return new RequestPool(compiled, { state: isStateful ? state : "none", onStuck: () => log.warn(STUCK, { path }) });
  } catch (reason) {
    compiled.release();
    throw reason;
  }
}

/** What users have to know that the signature does not tell. */
function tellOf({ inputs, outputs }: Network, { path, ir, weights }: ModelSource, log: Logger): void {
  const is64Bits = ({ elementType }: Port) => /^[iu]64$/.test(elementType);
  if ([...inputs, ...outputs].some(is64Bits) && ir?.computes !== false)
    log[inputs.some(is64Bits) ? "warn" : "info"](NARROWED, { path });
  if (weights !== undefined && weights.spareBytes > 0)
    log.warn("the weights have more bytes than the model uses: they may be another model's", { ...weights });
  if (ir?.isStateful)
    log.info("the model keeps state from run to run; -o state=reset begins anew with each request", { path });
}
