import { fileURLToPath } from "node:url";
import { DEFAULT_SIGNATURE, type Driver, type Model, type PredictCall, type Signature } from "../../drivers/driver.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { detectDriver } from "../../drivers/registry.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import type { Specs, TensorsOf } from "../../hooks/declared-hooks.ts";
import { toHooks } from "../../hooks/hook-set.ts";
import type { AnyHooks, AnyState, HookContext, RemoteHandle, RequestInfo } from "../../hooks/hooks.ts";
import { loadHostedModel } from "../../models/load-hosted-model.ts";
import type { ModelHandle } from "../../models/model-handle.ts";
import { createSilentLogger, type Logger } from "../../observability/logger.ts";
import { BoundModels, BoundStage } from "../../pipeline/bound-stage.ts";
import { createContext } from "../../pipeline/context.ts";
import { importUserModule } from "../../platform/user-module/user-module.ts";
import type { PredictChoices } from "../../server/predict.ts";
import type { Server } from "../../server/running-server.ts";
import { chooseStage } from "../../serving/repository/choose-stages.ts";
import type { StageOptions } from "../../serving/repository/stage.ts";
import { type PlainValue, toTensors, type Values } from "../../tensor/plain-value.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { CapturedHooks } from "./captured-hooks.ts";

/** The models around which hooks are tested. */
export interface HookTestOptions {
  /** The pipeline's models, in order. Default: one that returns its inputs. */
  readonly models?: readonly TestModel[];
  /** The server's other models by name, for `ctx.models.get`. */
  readonly others?: Readonly<Record<string, TestModel>>;
  /** `-o` options of the drivers and the hooks. */
  readonly options?: RawOptions;
  /** Time that a hook may take, in milliseconds; 0 = no limit. Default 60 s. */
  readonly hookTimeoutMs?: number;
  /** Default: silent. */
  readonly log?: Logger;
}

/** The answer to one request of a test. */
export interface HookRun<Outputs> {
  readonly outputs: Outputs;
  /** The request's context as its hooks have left it; `ctx.response` has what they send besides. */
  readonly ctx: HookContext;
}

/** A pipeline under test. It is started by its first run. */
export interface HookTest<Inputs, Outputs> {
  /** Runs one request through hooks and models. Rejects with the `ServingError` that a client would get. */
  run(inputs: Inputs, request?: PredictChoices): Promise<HookRun<Outputs>>;
  /** Runs one request, and gives the parts of its answer as they come. To leave the loop ends the request. */
  stream(inputs: Inputs, request?: PredictChoices): AsyncGenerator<HookRun<Outputs>, void, undefined>;
  /** Runs `close_hook` and frees the models. A process ends without it if all models run in its own thread. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Values by the names of the declared inputs. */
type InputsOf<Given> = Given extends { readonly inputs: infer Inputs extends Specs }
  ? string extends Inputs[number]["name"]
    ? Values
    : { readonly [Spec in Inputs[number] as Spec["name"]]: Tensor<Spec["dtype"]> | PlainValue }
  : Values;

type OutputsOf<Given> = Given extends { readonly outputs: infer Outputs extends Specs }
  ? TensorsOf<Outputs>
  : TensorsOf<Specs>;

/**
 * A pipeline of hooks and models as the server runs it, with its checks and messages, but without ports and threads.
 * `hooks` are what a hook file exports, or the file: a path or a URL.
 */
export function testHooks<Given extends AnyHooks | string | URL>(
  hooks: Given,
  options: HookTestOptions = {},
): HookTest<InputsOf<Given>, OutputsOf<Given>> {
  let opened: Promise<Pipeline> | undefined;
  const close = async () => (await opened?.catch(() => undefined))?.server.close();
  return {
    run: async (inputs, request) => {
      opened ??= openPipeline(hooks, options);
      const { server, captured } = await opened;
      const { result, ctx } = await captured.run(() => server.predict(NAME, inputs as Values, request));
      return {
        outputs: result as OutputsOf<Given>,
        get ctx() {
          return requireContext(ctx);
        },
      };
    },
    async *stream(inputs, request) {
      opened ??= openPipeline(hooks, options);
      const { server, captured } = await opened;
      for await (const { result, ctx } of captured.each(server.stream(NAME, inputs as Values, request)))
        yield { outputs: result as OutputsOf<Given>, ctx: requireContext(ctx) };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Pipeline {
  readonly server: Server;
  readonly captured: CapturedHooks;
}

/** The pipeline's name among the models. */
const NAME = "default";

async function openPipeline(
  given: AnyHooks | string | URL,
  { models = [{ driver: "null" }], others = {}, options, ...limits }: HookTestOptions,
): Promise<Pipeline> {
  const { createServer } = await import("../../server/server.ts");
  const captured = new CapturedHooks(await openHooks(given));
  const stages = await Promise.all(models.map(toStage));
  const named = Object.entries(others).map(
    async ([name, model]) => [name, { stages: [await toStage(model)] }] as const,
  );
  const pipeline = { stages, hooks: captured.hooks, ...(options && { options }) };
  const server = await createServer({
    ...limits,
    models: { [NAME]: pipeline, ...Object.fromEntries(await Promise.all(named)) },
    ...{ listen: false, failFast: true, loadRetries: 0 },
  });
  return { server, captured };
}

async function openHooks(given: AnyHooks | string | URL): Promise<AnyHooks> {
  if (typeof given === "object" && !(given instanceof URL)) return given;
  const file = typeof given === "string" ? given : fileURLToPath(given);
  return toHooks(await importUserModule(file), file);
}

function requireContext(ctx: HookContext | undefined): HookContext {
  if (ctx !== undefined) return ctx;
  throw failedPrecondition("No hook has run; expected preprocess, postprocess or process among the hooks.");
}

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
  readonly remote?: (address: string) => Partial<RemoteHandle>;
  /** Default: silent. */
  readonly log?: Logger;
}

const REQUEST: RequestInfo = {
  id: "test",
  model: "default",
  version: 1n,
  signature: "serving_default",
  parameters: {},
};

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
    ...{ globalCtx, request: { ...REQUEST, ...request }, call, log },
    remote: (address) => ({ ...noRemote(address), ...remote(address) }),
  });
  return ctx as HookContext<State>;
}

async function load(model: TestModel, index: number, log: Logger): Promise<ModelHandle> {
  const { found, path, options } = await chooseStage(await toStage(model), index);
  const foreignName = found.isHere || "file" in found.location ? `model ${index + 1}` : undefined;
  return loadHostedModel({ driver: found.driver, path, options, threads: 1, foreignName }, log);
}

function noRemote(address: string): RemoteHandle {
  const message = `The test has no server at ${address}; expected testContext({ remote: (address) => ({ predict, stream }) }).`;
  const refuse = () => Promise.reject(failedPrecondition(message));
  return {
    predict: refuse,
    stream: async function* () {
      yield refuse();
    },
  };
}

/** A model of a test: a fake one, the path of a real one, or a stage as `createServer` takes it. */
export type TestModel = Driver | string | StageOptions;

/**
 * The stage of a test's model. A real model that is named by its path runs in this
 * thread: none keeps the test's process alive.
 */
async function toStage(model: TestModel): Promise<StageOptions> {
  if (typeof model === "string") return { driver: (await detectDriver(model)).driver, path: model };
  return "load" in model ? { driver: model } : model;
}

/** Inputs and answers of a fake model. */
export interface FakeModelOptions<Inputs extends Specs = Specs> {
  /** Its inputs, which requests are checked against. Default: any names and dtypes. */
  readonly inputs?: Inputs;
  /** Its outputs; plain numbers of an answer take their dtypes. Default: not known before a run. */
  readonly outputs?: Specs;
  /** Its answer, or a function of the inputs. Default: the inputs. */
  readonly predict?: Values | ((inputs: TensorsOf<Inputs>, call: PredictCall) => Values | Promise<Values>);
  /** The third argument of hooks, as the real model's driver gives it. */
  readonly hookArgs?: Readonly<Record<string, unknown>>;
}

/** A model for tests, in the place of a real one. It is also a driver: a stage of `createServer` may have it. */
export interface FakeModel extends Driver {
  /** The inputs of each run until now, in their order. */
  readonly calls: readonly Tensors[];
}

/** A model that answers what a test wants. Requests to it are checked, queued and measured as those to any model. */
export function fakeModel<const Inputs extends Specs = Specs>(options: FakeModelOptions<Inputs> = {}): FakeModel {
  const { inputs, outputs, hookArgs } = options;
  const calls: Tensors[] = [];
  const signature: Signature = { ...(inputs && { inputs }), ...(outputs && { outputs }) };
  const model: Model = {
    signatures: { [DEFAULT_SIGNATURE]: signature },
    ...(hookArgs && { hookArgs }),
    predict: async (values, call) => {
      calls.push(values);
      return wantedOf(await answerOf(options, values, call), call);
    },
    close: async () => {},
  };
  return { name: "fake", options: {}, pathless: true, placement: "inline", load: async () => model, calls };
}

async function answerOf<Inputs extends Specs>(
  { predict, outputs }: FakeModelOptions<Inputs>,
  values: Tensors,
  call: PredictCall,
): Promise<Tensors> {
  if (predict === undefined) return values;
  const answer = typeof predict === "function" ? await predict(values as TensorsOf<Inputs>, call) : predict;
  return toTensors(answer, (name) => outputs?.find((spec) => spec.name === name)?.dtype);
}

function wantedOf(answer: Tensors, { outputs }: PredictCall): Tensors {
  if (outputs === undefined) return answer;
  const missing = outputs.find((name) => !Object.hasOwn(answer, name));
  if (missing !== undefined) throw invalidArgument(`The fake model's predict has not returned "${missing}".`);
  return createTensors(Object.entries(answer).filter(([name]) => outputs.includes(name)));
}
