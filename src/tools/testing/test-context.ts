import type { Driver } from "../../drivers/driver.ts";
import { detectDriver } from "../../drivers/registry.ts";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { AnyState, HookContext, RemoteHandle, RequestInfo } from "../../hooks/hooks.ts";
import { loadHostedModel } from "../../models/load-hosted-model.ts";
import type { ModelHandle } from "../../models/model-handle.ts";
import { createSilentLogger, type Logger } from "../../observability/logger.ts";
import { BoundModels, BoundStage } from "../../pipeline/bound-stage.ts";
import { createContext } from "../../pipeline/context.ts";
import { chooseStage } from "../../serving/repository/choose-stages.ts";
import type { StageOptions } from "../../serving/repository/stage.ts";

/** The fields of a context that a test chooses. */
export interface TestContextOptions {
  /** The models of `ctx.drivers`. Default: none. */
  readonly models?: readonly TestModel[];
  /** The server's other models by name, for `ctx.models.get`. Default: none. */
  readonly others?: Readonly<Record<string, TestModel>>;
  /** The value that `init_hook` returned. */
  readonly global_ctx?: unknown;
  /** Headers or gRPC metadata; names are lower-case. Default: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly request?: Partial<RequestInfo>;
  /** The end of the request. Default: it does not end. */
  readonly signal?: AbortSignal;
  /** Answers `ctx.remote(address)`. Default: an error, since a test has no other servers. */
  readonly remote?: (address: string) => RemoteHandle;
  /** Default: silent. */
  readonly log?: Logger;
}

const REQUEST: RequestInfo = { id: "test", model: "default", version: 1n, signature: "serving_default" };

/**
 * A context as hooks get it, for tests that call a hook themselves: `hooks.preprocess(inputs, await testContext())`.
 */
export async function testContext<State extends object = AnyState>(
  options: TestContextOptions = {},
): Promise<HookContext<State>> {
  const { models = [], others = {}, global_ctx: globalCtx, metadata = {}, request, remote = noRemote } = options;
  const { signal = new AbortController().signal, log = createSilentLogger() } = options;
  const call = { metadata, signal };
  const scope = { call, requestId: undefined };
  const handles = await Promise.all(models.map((model, index) => load(model, index, log)));
  const findOther = async (name: string) => {
    const model = Object.hasOwn(others, name) ? others[name] : undefined;
    if (model === undefined) throw new ServingError("not_found", `The test has no model "${name}" among its others.`);
    return load(model, 0, log);
  };
  const ctx = createContext({
    drivers: handles.map((handle, index) => new BoundStage(handle, scope, `model ${index + 1}`)),
    models: new BoundModels(findOther, scope),
    ...{ globalCtx, request: { ...REQUEST, ...request }, call, log, remote },
  });
  return ctx as HookContext<State>;
}

async function load(model: TestModel, index: number, log: Logger): Promise<ModelHandle> {
  const { found, path, options } = await chooseStage(await toStage(model), index);
  const foreignName = found.isHere || "file" in found.location ? `model ${index + 1}` : undefined;
  return loadHostedModel({ driver: found.driver, path, options, threads: 1, foreignName }, log);
}

function noRemote(address: string): RemoteHandle {
  const message = `The test has no server at ${address}; expected testContext({ remote: (address) => ({ predict }) }).`;
  return { predict: () => Promise.reject(failedPrecondition(message)) };
}

/** A model of a test: a fake one, the path of a real one, or a stage as `createServer` takes it. */
export type TestModel = Driver | string | StageOptions;

/**
 * The stage of a test's model. A real model that is named by its path runs in this
 * thread: none keeps the test's process alive.
 */
export async function toStage(model: TestModel): Promise<StageOptions> {
  if (typeof model === "string") return { driver: (await detectDriver(model)).driver, path: model };
  return "load" in model ? { driver: model } : model;
}
