import type { Logger } from "../../observability/logger.ts";
import type { DriverHost } from "../driver.ts";
import type { CompiledNetwork, Network, OpenvinoCore, Port } from "./engine.ts";
import { applyLayouts, applyShapes } from "./input-options.ts";
import { findModelSource, type ModelSource } from "./model-source.ts";
import { applyMapping, RenamedNetwork, readTfliteNames } from "./network-names.ts";
import { RenewingRunner, ReshapingRunner } from "./network-runners.ts";
import { toLoadError } from "./openvino-failure.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";
import { RequestPool } from "./request-pool.ts";
import { bindPorts, ServedNetwork } from "./served-network.ts";

const NARROWED =
  "OpenVINO's CPU plugin computes on 64-bit numbers in 32 bits, whatever the operator; inputs that 32 bits do not hold are refused, and greater results are cut";

const STUCK =
  "runs whose requests are over do not end, and leave no room for others; if that goes on for --model-stall, the model is loaded again";

/** A device to load networks on, and the receivers of reports about them. */
export interface LoadPlace {
  readonly core: OpenvinoCore;
  /** As OpenVINO takes it; its properties are set. */
  readonly device: string;
  readonly log: Logger;
  /** Reports the model as stuck until the returned function is called. */
  readonly reportStuck?: DriverHost["reportStuck"];
}

/**
 * Reads, reshapes and compiles a model; throws `failed_precondition`, or
 * `invalid_argument` for an option that does not fit it.
 */
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
  { core, device, log, reportStuck }: LoadPlace,
): Promise<ServedNetwork> {
  const read = await readNetwork(source, core, device);
  const undo: (() => unknown)[] = [() => read.release()];
  try {
    const network = applyMapping(read, source.folder);
    const layouts = applyLayouts(network, options);
    const anyShape = applyShapes(network, options);
    const ports = bindPorts(network, { layouts, inputs: options.inputs, outputs: options.outputs, anyShape });
    // Other formats may have loops too, but their files are not looked into.
    const hasBoundedRuns = source.ir?.hasLoops === false;
    const compile = async () => {
      const started = performance.now();
      const compiled = await network.compile({ hasBoundedRuns });
      return createPool(compiled, source, { options, log, reportStuck, graceMs: performance.now() - started });
    };
    const pool = await compile();
    undo.push(() => pool.close());
    tellOf(network, source, log);
    const computes = source.ir?.computes !== false;
    const traits = { computes, narrows: computes && device === "CPU", isPure: source.ir?.isStateful !== true };
    const runner = anyShape
      ? new ReshapingRunner(network, compile, pool)
      : new RenewingRunner({ network, compile, isPure: traits.isPure, log, source }, pool);
    return new ServedNetwork(ports, { runner, ...traits });
  } catch (reason) {
    for (const each of undo.reverse()) await each();
    throw reason;
  }
}

/** Clients of a .tflite model know the names of its signature, while OpenVINO has those of the graph. */
async function readNetwork({ path, weights }: ModelSource, core: OpenvinoCore, device: string): Promise<Network> {
  if (!/\.tflite$/i.test(path)) return core.readNetwork({ path, weights: weights?.path }, device);
  const names = await readTfliteNames(path);
  return new RenamedNetwork(await core.readNetwork({ path }, device), names);
}

interface PoolFacts extends Pick<LoadPlace, "log" | "reportStuck"> {
  readonly options: OpenvinoOptions;
  readonly graceMs: number;
}

function createPool(
  compiled: CompiledNetwork,
  { ir, path }: ModelSource,
  { options: { state }, log, reportStuck, graceMs }: PoolFacts,
): RequestPool {
  // The state of models in other formats is unknown; an unnecessary reset takes little time.
  const isStateful = ir?.isStateful ?? state === "reset";
  let onFreed = () => {};
  const onStuck = () => {
    log.warn(STUCK, { path });
    onFreed = reportStuck?.() ?? onFreed;
  };
  try {
    const limits = { graceMs, onStuck, onFreed: () => onFreed() };
    return new RequestPool(compiled, { state: isStateful ? state : "none", ...limits });
  } catch (reason) {
    compiled.release();
    throw reason;
  }
}

/** Logs facts that users need and that are not in the signature. */
function tellOf({ inputs, outputs }: Network, { path, ir, weights }: ModelSource, log: Logger): void {
  const is64Bits = ({ elementType }: Port) => /64$/.test(elementType);
  if ([...inputs, ...outputs].some(is64Bits) && ir?.computes !== false)
    log[inputs.some(is64Bits) ? "warn" : "info"](NARROWED, { path });
  if (weights !== undefined && weights.spareBytes > 0)
    log.warn("the weights have more bytes than the model uses: they may be another model's", { ...weights });
  if (ir?.isStateful)
    log.info("the model keeps state from run to run; -o state=reset starts afresh with each request", { path });
}
