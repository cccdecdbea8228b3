import { basename, resolve } from "node:path";
import { create, type Message, mergeFromJson, toBinary } from "@bufbuild/protobuf";
import { mergeFromText } from "@bufbuild/protobuf/txtpb";
import { failedPrecondition, invalidArgument, publicText, reasonText, ServingError } from "../../../errors.ts";
import type { Logger } from "../../../observability/logger.ts";
import { processors } from "../../../platform/machine/container.ts";
import { bindFunctions, openLibrary, type Pointer } from "../../../platform/native/bind-functions.ts";
import { maxAsyncCalls } from "../../../platform/native/pool-calls.ts";
import { claimForProcess } from "../../../platform/native/process-environment.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../../storage/runtimes/find-library.ts";
import { tensorflow } from "../../../storage/runtimes/native-runtimes.ts";
import { DEFAULT_SIGNATURE } from "../../../tensor/signature/signature.ts";
import { customOpFiles } from "../../custom-op-files.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { TensorflowEngine, TensorflowOptions } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";
import { messageSchema } from "../saved-model/tensorflow-messages.ts";
import { C_API, type TensorflowApi, withStatus } from "./c-api.ts";
import { servedPart } from "./graph.ts";
import { breaksFusing, usesFiles, writes } from "./graph-files.ts";
import { createNativeModel, GraphRunner } from "./native-model.ts";
import { checkOnlyTensorflow, quietTensorflow } from "./one-tensorflow.ts";
import { type OpenedModel, openModel } from "./open-model.ts";
import type { TensorflowSession } from "./session.ts";
import { createShapeGuard } from "./shape-guard.ts";

/** libtensorflow itself, by its C API. */
const engine: TensorflowEngine = { name: "native", load };
export default engine;

async function load(source: ModelSource, options: TensorflowOptions, host: DriverHost): Promise<Model> {
  const { log, threads } = host;
  const api = findTensorflow(options, host);
  if (options.custom_op_paths) loadCustomOps(api, options.custom_op_paths);
  const config = createSessionConfig(options, !breaksFusing(source));
  claimThreadPools(config, defaultPools(threads), log);
  const limit = maxAsyncCalls();
  const onStuck = () => void giveUp(session, source, host);
  const shapes = createShapeGuard(source, options.tags);
  const settings = { config: encodeSessionConfig(config), limit, onStuck, shapes, options, log };
  const { session, signatures, unserved } = await openModel(api, source, settings);
  try {
    return createNativeModel(session, signatures, {
      shown: signatures[DEFAULT_SIGNATURE],
      concurrency: limit,
      isPure: !writes(source),
      runner: createGraphRunner(api, { session, signatures }, source),
      runtime: `TensorFlow ${api.TF_Version()}`,
      unserved,
    });
  } catch (reason) {
    await session.close();
    throw reason;
  }
}

function createGraphRunner(api: TensorflowApi, { session, signatures }: OpenedModel, source: ModelSource): GraphRunner {
  const tensors = (side: "inputs" | "outputs") =>
    Object.values(signatures).flatMap((each) => each[side].map(({ nativeName }) => session.graph.tensor(nativeName)));
  const inputs = tensors("inputs");
  let served: ReadonlySet<Pointer> | undefined;
  const findServed = () => {
    // An input that no output needs may be fed too.
    served ??= servedPart(
      api,
      [...tensors("outputs"), ...inputs].map(({ operation }) => operation),
    );
    return served;
  };
  return new GraphRunner(session, { inputs, served: findServed, usesFiles: usesFiles(source) });
}

/**
 * Every run of the process shares the pools: half of the threads within operators
 * serve one caller as fast as all, and many callers better.
 */
function defaultPools(threads: number): ThreadPools {
  return { intra: Math.ceil(threads / 2), inter: processors() };
}

/** Ends the runs, then this thread, which the server replaces. */
async function giveUp(session: TensorflowSession, { path }: ModelSource, { log }: DriverHost): Promise<void> {
  log.error("runs whose requests are over do not end, and leave no room for others; the model is loaded again", {
    path,
  });
  await session.abandon();
  setImmediate(() => {
    throw new ServingError("unavailable", "The model's runs did not end.");
  });
}

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, TensorflowApi>();

/**
 * Finds libtensorflow and opens it; throws `failed_precondition` with the way to install it, for a file that does not
 * load or lacks functions, and for a second library.
 */
function findTensorflow({ tensorflow_lib }: TensorflowOptions, { log }: DriverHost): TensorflowApi {
  const library = findLibrary(tensorflow, tensorflow_lib);
  if (library === undefined) {
    const { name, title } = tensorflow;
    throw missingRuntime({ name, title, looked: lookedIn(tensorflow) });
  }
  const api = openTensorflow(library.path);
  log.info("TensorFlow is loaded", { version: api.TF_Version(), ...library });
  return api;
}

/** Opens a file of libtensorflow, once in a thread. */
export function openTensorflow(path: string): TensorflowApi {
  const known = opened.get(path);
  if (known !== undefined) return known;
  quietTensorflow();
  const library = openLibrary(path);
  const api = bindFunctions(library, C_API, `The TensorFlow library "${path}"`);
  checkOnlyTensorflow(path);
  opened.set(path, api);
  return api;
}

/**
 * Loads the libraries of `custom_op_paths` into TensorFlow, for the whole process;
 * throws `failed_precondition` for one that does not load.
 */
function loadCustomOps(api: TensorflowApi, paths: string): void {
  for (const file of customOpFiles(paths)) loadLibrary(api, file);
}

function loadLibrary(api: TensorflowApi, file: string): void {
  try {
    withStatus(api, (status) => api.TF_LoadLibrary(resolve(file), status));
  } catch (cause) {
    const reason = publicText(cause).replace("(path): ", "");
    throw failedPrecondition(
      `The custom op library "${basename(file)}" does not load into TensorFlow ${api.TF_Version()}: ${reason}. It has to be built for this version.`,
      cause,
    );
  }
}

/** The parts of TensorFlow's ConfigProto that are read here. */
interface SessionConfig extends Message {
  intraOpParallelismThreads: number;
  interOpParallelismThreads: number;
}

type ConfigOptions = Pick<
  TensorflowOptions,
  "session_config" | "intra_op_threads" | "inter_op_threads" | "gpu_memory_fraction" | "allow_soft_placement" | "xla"
>;

/** Simple TensorFlow Serving's further GPU options. */
const GPU_SHORTHANDS = ["allow_growth", "per_process_gpu_memory_fraction", "visible_device_list"];

const schema = () => messageSchema("ConfigProto");

/**
 * Configuration by the options, with `fuses` false without fused layers, then by `session_config`; throws
 * `invalid_argument` for one that cannot be read.
 */
export function createSessionConfig(options: ConfigOptions, fuses = true): SessionConfig {
  const config = mergeFromJson(schema(), create(schema()), toJson(options, fuses));
  if (options.session_config) merge(config, options.session_config.trim());
  return config as SessionConfig;
}

/** Its bytes. */
export function encodeSessionConfig(config: SessionConfig): Uint8Array {
  return toBinary(schema(), config);
}

function toJson(options: ConfigOptions, fuses: boolean): JsonRecord {
  const { gpu_memory_fraction: fraction, xla } = options;
  return {
    intra_op_parallelism_threads: options.intra_op_threads,
    inter_op_parallelism_threads: options.inter_op_threads,
    allow_soft_placement: options.allow_soft_placement,
    ...(fraction > 0 && { gpu_options: { per_process_gpu_memory_fraction: fraction } }),
    graph_options: {
      ...(xla && { optimizer_options: { global_jit_level: "ON_1", cpu_global_jit: true } }),
      ...(!fuses && { rewrite_options: { remapping: "OFF" } }),
    },
  };
}

type JsonRecord = { [key: string]: string | number | boolean | JsonRecord };

function merge(config: Message, text: string): void {
  try {
    if (text.startsWith("{")) mergeFromJson(schema(), config, withoutShorthands(JSON.parse(text)));
    else mergeFromText(schema(), config, text);
  } catch (cause) {
    const reason = reasonText(cause).replace(/^cannot decode message tensorflow\.\w+ from (JSON|text): /, "");
    const message = `Option "session_config" is not TensorFlow's ConfigProto: ${reason}. Expected JSON such as {"log_device_placement": true}, or text such as log_device_placement: true.`;
    throw invalidArgument(message, cause);
  }
}

function withoutShorthands(json: JsonRecord): JsonRecord {
  const entries = Object.entries(json);
  const short = entries.filter(([key]) => GPU_SHORTHANDS.includes(key));
  if (short.length === 0) return json;
  const rest = Object.fromEntries(entries.filter(([key]) => !GPU_SHORTHANDS.includes(key)));
  return { ...rest, gpu_options: { ...(json.gpu_options as JsonRecord | undefined), ...Object.fromEntries(short) } };
}

/** Threads of TensorFlow's two pools. */
interface ThreadPools {
  readonly intra: number;
  readonly inter: number;
}

/**
 * Sets the pools' sizes if the configuration does not. TensorFlow makes its pools for the whole process, with the
 * first session: the log says so when an earlier model has decided otherwise.
 */
export function claimThreadPools(config: SessionConfig, defaults: ThreadPools, log: Logger): void {
  config.intraOpParallelismThreads ||= defaults.intra;
  config.interOpParallelismThreads ||= defaults.inter;
  const wanted = `${config.intraOpParallelismThreads} within operators, ${config.interOpParallelismThreads} across them`;
  const actual = claimForProcess("KSERVING_TENSORFLOW_POOLS", wanted);
  if (actual !== wanted)
    log.warn("TensorFlow's threads are those of the first model of the process", { wanted, actual });
}
