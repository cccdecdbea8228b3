import type { RawOptions } from "../drivers/option-table.ts";
import { reasonText, ServingError } from "../errors.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { InitContext, InitParams, LoadedModel } from "../hooks/hooks.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import { BoundStage } from "./bound-stage.ts";

/** What starting hooks needs. */
export interface StartParts {
  readonly models: readonly ModelHandle[];
  readonly params: InitParams;
  readonly log: Logger;
  readonly loadMore: LoadMore;
}

/** Loads a model that hooks ask for by the name of its driver; equal ones are shared by whoever implements it. */
export type LoadMore = (driver: string, path: string, options: RawOptions) => Promise<ModelHandle>;

/** Hooks whose `init_hook` has returned. */
export interface StartedHooks {
  readonly globalCtx: unknown;
  /** Runs `close_hook`, then gives back the models that hooks loaded themselves. */
  close(): Promise<void>;
}

/** Runs `init_hook`; throws `failed_precondition` when it throws. */
export async function startHooks(hooks: HookSet | undefined, parts: StartParts): Promise<StartedHooks> {
  const loaded: LoadedModel[] = [];
  const closeLoaded = () => Promise.all(loaded.map((model) => model.close()));
  try {
    const globalCtx = await hooks?.init?.(parts.params, initContext(parts, loaded));
    return {
      globalCtx,
      close: async () => {
        await closeHook(hooks, globalCtx, parts.log);
        await closeLoaded();
      },
    };
  } catch (reason) {
    await closeLoaded();
    if (reason instanceof ServingError) throw reason;
    throw new ServingError("failed_precondition", `init_hook failed: ${reasonText(reason)}`, { cause: reason });
  }
}

/** What goes wrong while hooks end must not keep the models from being freed. */
async function closeHook(hooks: HookSet | undefined, globalCtx: unknown, log: Logger): Promise<void> {
  try {
    await hooks?.close?.(globalCtx);
  } catch (reason) {
    log.error("close_hook failed", { err: reason });
  }
}

function initContext({ models, log, loadMore }: StartParts, loaded: LoadedModel[]): InitContext {
  const { signal } = new AbortController();
  return {
    drivers: models.map((model, index) => new BoundStage(model, { signal }, `model ${index + 1}`)),
    log,
    loadModel: async (driver, path, options = {}) => {
      const handle = await loadMore(driver, path, options);
      const model = Object.assign(new BoundStage(handle, { signal }, `the model ${path}`), { close: handle.close });
      loaded.push(model);
      return model;
    },
  };
}
