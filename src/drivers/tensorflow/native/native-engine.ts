import { ServingError } from "../../../errors.ts";
import { processors } from "../../../machine/processors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { maxAsyncCalls } from "../../../native/max-async-calls.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../../runtimes/find-library.ts";
import { tensorflow } from "../../../runtimes/native-runtimes.ts";
import { DEFAULT_SIGNATURE } from "../../../signature/signature.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { TensorflowEngine } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";
import type { TensorflowOptions } from "../tensorflow-options.ts";
import { breaksFusing } from "./breaks-fusing.ts";
import type { TensorflowApi } from "./c-api.ts";
import { loadCustomOps } from "./custom-ops.ts";
import { GraphRunner } from "./graph-runner.ts";
import { createNativeModel } from "./native-model.ts";
import { type OpenedModel, openModel } from "./open-model.ts";
import { openTensorflow } from "./open-tensorflow.ts";
import { servedPart } from "./served-part.ts";
import type { TensorflowSession } from "./session.ts";
import { createSessionConfig, encodeSessionConfig } from "./session-config.ts";
import { createShapeGuard } from "./shape-guard.ts";
import { claimThreadPools } from "./thread-pools.ts";
import { usesFiles } from "./uses-files.ts";
import { writes } from "./writes.ts";

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
