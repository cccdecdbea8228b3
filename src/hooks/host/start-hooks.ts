import type { RawOptions } from "../../drivers/option-table.ts";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import type { ModelHandle } from "../../models/model-handle.ts";
import type { Logger } from "../../observability/logger.ts";
import { BoundStage } from "../../pipeline/bound-stage.ts";
import { CancelSource } from "../../platform/async/cancel-source.ts";
import { kindOf } from "../../platform/text/kind-of.ts";
import { isObject } from "../../tensor/record.ts";
import type { HookSet } from "../hook-set.ts";
import type { InitContext, InitParams, LoadedModel } from "../hooks.ts";
import { withinStartLimit } from "../start-limit.ts";

/** Parts needed to start hooks. */
export interface StartParts {
  readonly models: readonly ModelHandle[];
  readonly params: InitParams;
  readonly log: Logger;
  readonly loadMore: LoadMore;
  /** The hook file, for messages. */
  readonly file: string;
  /** `--hook-timeout`, in milliseconds; 0 = no limit. */
  readonly hookTimeoutMs: number;
}

/** Loads a model that hooks request by a driver's name; equal requests share one. */
export type LoadMore = (driver: string, path: string, options: RawOptions) => Promise<ModelHandle>;

/** Hooks whose `init_hook` has returned. */
export interface StartedHooks {
  readonly globalCtx: unknown;
  /** Runs `close_hook`, then returns the models that hooks loaded. */
  close(): Promise<void>;
}

/** Runs `init_hook`; throws `failed_precondition`, naming the file, when it throws or does not return in time. */
export async function startHooks(hooks: HookSet | undefined, parts: StartParts): Promise<StartedHooks> {
  const loaded = new LoadedModels();
  const closeLoaded = () => loaded.close();
  try {
    const globalCtx = await runInit(hooks, parts, loaded);
    return {
      globalCtx,
      close: async () => {
        await closeHook(hooks, globalCtx, parts.log);
        await closeLoaded();
      },
    };
  } catch (reason) {
    await closeLoaded();
    throw reason;
  }
}

/** The models that an `init_hook` has loaded. */
class LoadedModels {
  readonly #models: LoadedModel[] = [];
  #isClosed = false;

  /** Closes it at once if the `init_hook` did not wait for it, or took too long. */
  async add(model: LoadedModel): Promise<void> {
    this.#models.push(model);
    if (this.#isClosed) await model.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#models.map((model) => model.close()));
  }
}

async function runInit(hooks: HookSet | undefined, parts: StartParts, loaded: LoadedModels): Promise<unknown> {
  if (hooks?.init === undefined) return undefined;
  const { file } = parts;
  const params = withDefaults(parts.params, hooks.options);
  const init = async () => hooks.init?.(params, initContext(parts, loaded));
  const initialised = init().catch((reason) => Promise.reject(initError(reason, file)));
  return withinStartLimit(initialised, `init_hook of ${file} has not returned`, parts);
}

/** Declared options that are not given have their defaults, as text too. */
function withDefaults(params: InitParams, options: HookSet["options"] = {}): InitParams {
  const defaults = Object.entries(options).flatMap(([key, spec]) =>
    "default" in spec && spec.default !== undefined ? [[key, String(spec.default)] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...params };
}

/** A wrong argument from a hook is not a wrong argument of the command line. */
function initError(reason: unknown, file: string): ServingError {
  const own = reason instanceof ServingError ? ServingError.from(reason).code : "failed_precondition";
  const code = own === "invalid_argument" ? "failed_precondition" : own;
  return new ServingError(code, `${file}: init_hook failed: ${reasonText(reason)}`, { cause: reason });
}

/** Runs close_hook; the models must be freed even if it throws. */
async function closeHook(hooks: HookSet | undefined, globalCtx: unknown, log: Logger): Promise<void> {
  try {
    await hooks?.close?.(globalCtx);
  } catch (reason) {
    log.error("close_hook failed", { err: reason });
  }
}

function initContext({ models, log, loadMore }: StartParts, loaded: LoadedModels): InitContext {
  // Unlike an AbortSignal, it takes a listener of each predict under way without a warning.
  const scope = { call: { signal: new CancelSource() }, requestId: undefined };
  return {
    drivers: models.map((model, index) => new BoundStage(model, scope, `model ${index + 1}`)),
    log,
    loadModel: async (driver, path, options = {}) => {
      checkLoadModel(driver, path, options);
      const handle = await loadMore(driver, path, options);
      const model = Object.assign(new BoundStage(handle, scope, `the model ${path}`), { close: handle.close });
      await loaded.add(model);
      return model;
    },
  };
}

/** JavaScript callers may pass any value. */
function checkLoadModel(driver: unknown, path: unknown, options: unknown): void {
  const usage = 'expected ctx.loadModel("onnx", "model.onnx", { option: "text" })';
  if (typeof driver !== "string" || driver === "") throw invalid(`loadModel got ${kindOf(driver)} as driver`);
  if (typeof path !== "string") throw invalid(`loadModel got ${kindOf(path)} as path`);
  if (!isObject(options)) {
    throw invalid(`loadModel got ${kindOf(options)} as options`);
  }
  const wrong = Object.entries(options).find(([, value]) => typeof value !== "string");
  if (wrong !== undefined) throw invalid(`loadModel got ${kindOf(wrong[1])} as option "${wrong[0]}"`);

  function invalid(what: string): ServingError {
    return invalidArgument(`${what}; ${usage}.`);
  }
}
