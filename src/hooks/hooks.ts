import type { OptionTable } from "../drivers/option-table.ts";
import type { Logger } from "../observability/logger.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { Signature, TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";
import type { CheckedHooks, Specs, TensorsOf } from "./declared-hooks.ts";
import type { MediaFunctions } from "./media-request.ts";
import type { ContextRoute } from "./raw-request.ts";
import type { TextFunctions } from "./text-request.ts";

/** A truthy value under this name, in the result of preprocess, means that the stage's model is not run. */
export const SKIP_KEY = "ml-serving-ignore";

/**
 * A hook file: all members are optional, and so are the later arguments of each function.
 * The names stay in snake_case because users bring them from Python.
 */
export interface Hooks<State extends object = AnyState, Inputs = Tensors>
  extends TextFunctions<HookContext<State>>,
    MediaFunctions<HookContext<State>> {
  /** Called once per hook thread before the first request; its result becomes `ctx.global_ctx`. */
  readonly init_hook?: (params: InitParams, ctx: InitContext) => unknown;
  /** Before the model: one function for a single model, or one slot per model, `null` = no hook. */
  readonly preprocess?: HookSlots<State, Inputs>;
  /**
   * After the model, likewise. Also runs if the model was skipped, with the stage's inputs. A generator answers in
   * parts.
   */
  readonly postprocess?: HookSlots<State, Inputs, PartsHook<State, Inputs>>;
  /**
   * Replaces the automatic chain and calls `ctx.drivers[i].predict` itself. `args` are the first stage's. A generator,
   * `async *process`, answers in parts.
   */
  readonly process?: Hook<State, Inputs> | PartsHook<State, Inputs>;
  /**
   * Joins the parts of hooks that answer in parts to one answer, for requests that take only one. `parts` are copies
   * of what was yielded.
   */
  readonly collect?: (parts: readonly Loose[], ctx: HookContext<State>) => Values | Promise<Values>;
  /** Its own HTTP routes, whose requests reach {@link RawRoute.answer} as they were sent. */
  readonly rawRequest?: RawRoute<State> | readonly RawRoute<State>[];
  /** Called when these hooks are replaced or the server ends. */
  readonly close_hook?: (global_ctx: unknown) => unknown;
  /** A sentence or two on what the pipeline does, for assistants that call it as a tool. */
  readonly description?: string;
  /** Inputs of the pipeline, for metadata, checks and generated clients. */
  readonly inputs?: readonly TensorSpec[];
  /** Outputs of the pipeline. */
  readonly outputs?: readonly TensorSpec[];
  /** The `-o` keys of the hooks; if they are declared, unknown keys are refused. */
  readonly options?: OptionTable<Record<string, unknown>>;
}

/**
 * One step: receives values and returns those for the next step. Returning `undefined` is an error.
 * Over PredictJSON a hook receives plain JSON values instead of tensors.
 */
export type Hook<State extends object = AnyState, Inputs = Tensors> = (
  values: Inputs,
  ctx: HookContext<State>,
  args: HookArgs,
) => Values | Promise<Values>;

/**
 * A step that answers in parts: each value that it yields goes through the following steps, and to the client, before
 * it is asked for the next one. It is left by `return()` when the client leaves, so that `finally` runs.
 */
export type PartsHook<State extends object = AnyState, Inputs = Tensors> = (
  values: Inputs,
  ctx: HookContext<State>,
  args: HookArgs,
) => AsyncGenerator<Values, void, undefined> | Generator<Values | Promise<Values>, void, undefined>;

/** A hook for the only model, or one slot per model; `Other` = functions that may take its place. */
export type HookSlots<State extends object = AnyState, Inputs = Tensors, Other = never> =
  | Hook<State, Inputs>
  | Other
  | readonly (Hook<State, Inputs> | Other | null)[];

/**
 * Values that a driver gives to hooks (`session`, `model_inputs` …), and `driver`, the stage's own {@link StageHandle}.
 */
export type HookArgs = Readonly<Record<string, Loose>> & { readonly driver: StageHandle };

/** An HTTP route of a hook file, which gets the `ctx` of its request. */
export type RawRoute<State extends object = AnyState> = ContextRoute<HookContext<State>>;

/** A value whose type only the user's own code knows: undeclared attributes of `ctx`, a driver's handles. */
// biome-ignore lint/suspicious/noExplicitAny: a hook that declares no types must be able to use such values without casts
export type Loose = any;

/** Hooks whatever types they declare. */
export type AnyHooks = Hooks<AnyState, Loose>;

/** State without a declared type: any attribute. */
export type AnyState = Record<string, Loose>;

/** Every `-o` option as text, declared ones also by their defaults, and the models' paths. */
export type InitParams = Readonly<Record<string, string>> & {
  /** The first model's path. */
  readonly model_path: string;
  /** All paths, one per stage. */
  readonly model_paths: readonly string[];
};

/** The second argument of `init_hook`. */
export interface InitContext {
  /** The stages' models, ready to predict. */
  readonly drivers: readonly StageHandle[];
  readonly log: Logger;
  /** Loads one more model; equal driver, path and options share one copy. */
  loadModel(driver: string, path: string, options?: Readonly<Record<string, string>>): Promise<LoadedModel>;
}

/** A stage's model as seen by hooks. */
export interface StageHandle {
  /** The driver's name. */
  readonly name: string;
  /** Inputs of the stage's signature; undefined = any. */
  readonly inputs: readonly TensorSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Values that the driver gives to hooks. */
  readonly args: HookArgs;
  /**
   * Runs the model. Plain values become tensors of the dtype that the input has. Of a model that answers in parts, it
   * gives the only one.
   */
  predict(inputs: Values, options?: PredictOptions): Promise<Tensors>;
  /**
   * Runs a model that answers in parts; one that answers once gives one. The model is asked for the next part while
   * the one before is used, some parts ahead, and is ended if the loop over them is left.
   */
  stream(inputs: Values, options?: PredictOptions): AsyncIterable<Tensors>;
}

/** A model that a hook loaded itself. */
export interface LoadedModel extends StageHandle {
  /** Returns it; it is freed once no hook uses it. */
  close(): Promise<void>;
}

/**
 * Belongs to one request and is shared by all its hooks; concurrent requests have separate ones.
 * Besides these fields it takes any attribute, typed by `defineHooks<State>`.
 */
export type HookContext<State extends object = AnyState> = RequestContext & Partial<State>;

/** The fields that every {@link HookContext} has. */
export interface RequestContext {
  /** The models, in `--driver` order. */
  readonly drivers: readonly StageHandle[];
  /** The value that `init_hook` returned. */
  readonly global_ctx: Loose;
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: RequestInfo;
  /** Number of the part that is under way, from 1; undefined until a hook has yielded one. */
  part: number | undefined;
  /** Metadata and content type to send with the outputs. */
  readonly response: ResponseInfo;
  /**
   * Aborts at the request's deadline, the client's disconnect, or shutdown. Created when it is first read, so that a
   * spread copy of the context lacks it.
   */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The other models of this server: `ctx.models.get("emotion").predict(inputs)`. */
  readonly models: OtherModels;
  /**
   * Another kserving server, or one of the original:
   * `ctx.remote("host:9000").predict(inputs)`; `grpcs://host:9000` is encrypted.
   */
  remote(address: string): RemoteHandle;
}

/**
 * Parameters of a request by name, without those that the protocol reads itself. Integers that a number cannot hold
 * exactly are bigint.
 */
export type RequestParameters = Readonly<Record<string, boolean | number | bigint | string>>;

/** Facts about the request: its id, its model and what the client has set for it. */
export interface RequestInfo {
  readonly id: string;
  readonly model: string;
  readonly version: bigint;
  readonly signature: string;
  /** Those of KServe V2: `max_tokens` of a text, for example. Empty over other protocols. */
  readonly parameters: RequestParameters;
}

/** Additions of a hook to the answer. */
export interface ResponseInfo {
  /** gRPC initial metadata or HTTP headers to send; lower-case names. */
  readonly metadata: Record<string, string>;
  /** HTTP only: answer with the only output's bytes under this content type, instead of JSON. */
  contentType?: string;
}

/** Hooks whose first function gets the inputs that they declare. */
type DeclaredHooks<Inputs extends Specs, Outputs extends Specs> = Omit<Hooks, TypedMember> & {
  readonly inputs?: Inputs;
  readonly outputs?: Outputs;
  readonly preprocess?: FirstHook<Inputs> | readonly [] | readonly [FirstHook<Inputs> | null, ...(Hook | null)[]];
  readonly process?: FirstHook<Inputs> | PartsHook<AnyState, TensorsOf<Inputs>>;
};

type TypedMember = "inputs" | "outputs" | "preprocess" | "process";
type FirstHook<Inputs extends Specs> = Hook<AnyState, TensorsOf<Inputs>>;

/** An object with members of {@link Hooks}; the types of each are checked against {@link DeclaredHooks}. */
type HookMembers = { readonly [Member in keyof Hooks]?: unknown };

/**
 * Types a hook file. Names and dtypes of declared `inputs` are those of the first hook's values, and a last hook that
 * does not return the declared `outputs` is refused; the result keeps its members' own types, so that tests can call
 * them. `defineHooks<State>` types `ctx` instead. Has no effect at run time.
 */
export function defineHooks<State extends object = never, Inputs = Tensors>(
  hooks: [State] extends [never] ? never : Hooks<NoInfer<State>, NoInfer<Inputs>>,
): Hooks<State, Inputs>;
export function defineHooks<const Inputs extends Specs, const Outputs extends Specs, const Given extends HookMembers>(
  hooks: Given & DeclaredHooks<Inputs, Outputs> & CheckedHooks<Given, Outputs, Hooks>,
): NoInfer<Given>;
export function defineHooks(hooks: Hooks): Hooks {
  return hooks;
}

export { argmax, softmax, topK } from "../tensor/along-axis.ts";
export { ctcGreedyDecode } from "../tensor/ctc-greedy-decode.ts";
export { nonMaxSuppression } from "../tensor/non-max-suppression.ts";
export { tensorOf } from "../tensor/plain-value.ts";
export type { Tensor, TensorSpec, Tensors, Values };

/** Choices for a model's predict. */
export interface PredictOptions {
  readonly signature?: string;
  readonly outputs?: readonly string[];
}

/** The models of this server by name, each with its own queue and batching. */
export interface OtherModels {
  /** A model by the name that clients use; its highest available version answers each call. */
  get(name: string): OtherModel;
}

/** Another model of this server. */
export interface OtherModel {
  /**
   * Runs the model, hooks included. Plain values become tensors of the input's dtype. Rejects with `not_found` if
   * there is no such model.
   */
  predict(inputs: Values, options?: PredictOptions): Promise<Tensors>;
  /** The parts of its answer, hooks included: {@link StageHandle.stream}. */
  stream(inputs: Values, options?: PredictOptions): AsyncIterable<Tensors>;
}

/** A client of another server. */
export interface RemoteHandle {
  predict(inputs: Values, options?: RemotePredictOptions): Promise<Tensors>;
  /**
   * The same, with the parts of the answer as they come: one of a model that answers once. To leave the loop ends the
   * call.
   */
  stream(inputs: Values, options?: RemotePredictOptions): AsyncGenerator<Tensors, void, undefined>;
}

/** Choices for {@link RemoteHandle.predict}. */
export interface RemotePredictOptions extends PredictOptions {
  readonly model?: string;
  /** Default: the time left until this request's own deadline. */
  readonly timeoutMs?: number;
  /**
   * The `Authorization` by which the other server knows this one, such as
   * `Bearer TOKEN`. Default: none, even if the client has sent one.
   */
  readonly authorization?: string;
}
