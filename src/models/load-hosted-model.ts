import type { Driver, Model, ModelCopies } from "../drivers/driver.ts";
import { lfsPointers } from "../drivers/file-kind.ts";
import { expandAliases, parseOptions, type RawOptions } from "../drivers/option-table.ts";
import { failedPrecondition, reasonText, ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";
import type { Logger } from "../observability/logger.ts";
import { assertModel } from "./foreign-model.ts";
import { type HostChoices, parseHostOptions } from "./host-options.ts";
import { hostModel } from "./hosted-model.ts";
import { decodeImageInputs, type PreprocessInputs } from "./images/image-input.ts";
import type { ModelHandle } from "./model-handle.ts";
import { assertBatchable, withinBounds } from "./queue/batch-policy.ts";
import { flexibleBatch } from "./queue/flexible-batch.ts";
import type { RunMark } from "./run-mark.ts";
import type { ModelTurns } from "./threads/thread-turns.ts";

/** A model and its driver, in the thread where it is to run. */
export interface LoadSource {
  readonly driver: Driver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  /** The copies of the model in this process, if there are several. */
  readonly copies?: ModelCopies | undefined;
  /** As in {@link DriverHost}. */
  readonly poolCalls?: SharedArrayBuffer | undefined;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** As in {@link DriverHost}. */
  readonly signal?: AbortSignal | undefined;
  /** Reports the thread as unresponsive until the returned function is called. */
  readonly reportStuck?: () => () => void;
  /** Makes inputs of images; default = in this thread. */
  readonly preprocess?: PreprocessInputs;
  /** Turns of the model, if others share its thread. */
  readonly turns?: ModelTurns | undefined;
  /** Absent = the model's runs are not marked. */
  readonly mark?: RunMark | undefined;
  /** The model's name, if the driver is a user's own: what that returns is checked. */
  readonly foreignName?: string | undefined;
}

/** Pointers that a message names. */
const MOST_NAMED = 3;

/** Loads a model, and adds what all drivers need: see {@link hostModel}. */
export async function loadHostedModel(source: LoadSource, log: Logger): Promise<ModelHandle> {
  const { driver, path, preprocess = decodeImageInputs, turns, mark, foreignName } = source;
  const started = performance.now();
  const asked = parseHostOptions(expandAliases(driver.options, source.options), driver);
  const model = await openModel(source, asked, log);
  const { batching } = asked;
  const choices = { ...asked, ...(batching && { batching: withinBounds(batching, Object.values(model.signatures)) }) };
  const loadMs = performance.now() - started;
  log.debug("model loaded", { driver: driver.name, path, ms: Math.round(loadMs) });
  const foreign = foreignName === undefined ? undefined : { driver: driver.name, model: foreignName };
  return hostModel(model, { driver: driver.name, path, loadMs, log, choices, preprocess, turns, mark, foreign });
}

async function openModel(
  source: LoadSource,
  { batching, flexibleBatch: flexible }: HostChoices,
  log: Logger,
): Promise<Model> {
  const loaded = await load(source, log);
  if (source.foreignName !== undefined) assertModel(loaded, source.driver.name);
  try {
    const model = flexible ? flexibleBatch(loaded) : loaded;
    if (batching !== undefined) Object.values(model.signatures).forEach(assertBatchable);
    return model;
  } catch (reason) {
    await loaded.close();
    throw reason;
  }
}

async function load({ driver, path, options, ...place }: LoadSource, log: Logger): Promise<Model> {
  const parsed = parseOptions(driver.options, options);
  const { threads, copies, poolCalls, hookFolder, signal, reportStuck } = place;
  try {
    return await driver.load(path, parsed, {
      log,
      threads,
      ...(copies !== undefined && { copies }),
      ...(poolCalls !== undefined && { poolCalls }),
      ...(hookFolder !== undefined && { hookFolder }),
      ...(signal !== undefined && { signal }),
      ...(reportStuck !== undefined && { reportStuck }),
    });
  } catch (reason) {
    if (reason instanceof ServingError) throw withPointers(reason, path);
    const lost = lostPackage(reason);
    if (lost !== undefined) throw lost;
    const message = `The ${driver.name} driver could not load ${path}: ${reasonText(reason)}`;
    throw failedPrecondition(message, reason);
  }
}

/** The error with the pointers in the place of weights, of which a runtime says that they are cut short. */
function withPointers(error: ServingError, path: string): ServingError {
  const { code, message } = error;
  if (path === "" || message.includes("git lfs")) return error;
  const pointers = lfsPointers(path, message);
  if (pointers.length === 0) return error;
  const names = pointers.slice(0, MOST_NAMED).join(", ");
  const advice = `Git LFS pointers are in the place of ${names}; run "git lfs pull" to get the files themselves.`;
  return new ServingError(code, `${message} ${advice}`, { cause: error });
}
