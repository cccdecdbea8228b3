import { basename, resolve } from "node:path";
import { failedPrecondition, publicText, ServingError } from "../../../errors.ts";
import { processors } from "../../../platform/machine/container.ts";
import { bindFunctions, openLibrary, type Pointer } from "../../../platform/native/bind-functions.ts";
import { maxAsyncCalls } from "../../../platform/native/pool-calls.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../../storage/runtimes/find-library.ts";
import { tensorflow } from "../../../storage/runtimes/native-runtimes.ts";
import { DEFAULT_SIGNATURE } from "../../../tensor/signature/signature.ts";
import { customOpFiles } from "../../custom-op-files.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { TensorflowEngine, TensorflowOptions } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";
import { C_API, type TensorflowApi, withStatus } from "./c-api.ts";
import { servedPart } from "./graph.ts";
import { breaksFusing, usesFiles, writes } from "./graph-files.ts";
import { createNativeModel, GraphRunner } from "./native-model.ts";
import { checkOnlyTensorflow, quietTensorflow } from "./one-tensorflow.ts";
import { type OpenedModel, openModel } from "./open-model.ts";
import type { TensorflowSession } from "./session.ts";
import { claimThreadPools, createSessionConfig, encodeSessionConfig } from "./session-config.ts";
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
function defaultPools(threads: number): { readonly intra: number; readonly inter: number } {
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
