import { setMaxListeners } from "node:events";
import type { Signature } from "../drivers/driver.ts";
import { ServingError } from "../errors.ts";
import { createContext } from "../hooks/context.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { HookContext, RequestInfo } from "../hooks/hooks.ts";
import { type PlacedHook, runHook } from "../hooks/run-hook.ts";
import { checkInputs } from "../model-host/check-inputs.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import { createTensors, type Tensors } from "../tensor/tensor.ts";
import { BoundStage, blameHook, type CallScope, callLimits, dtypesOf } from "./bound-stage.ts";
import { openPayload, type Payload, sealPayload } from "./payload.ts";
import { type RemoteClient, remoteHandle } from "./remote.ts";
import { pipelineSignatures } from "./signatures.ts";
import { takeSkip } from "./skip.ts";

/** One request as the pipeline runs it. */
export interface PipelineRequest extends CallScope {
  readonly info: RequestInfo;
  readonly inputs: Payload;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a pipeline gives back. */
export interface PipelineResult {
  readonly outputs: Payload;
  /** Metadata or headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
}

/** What a pipeline is made of. */
export interface PipelineParts {
  readonly models: readonly ModelHandle[];
  readonly hooks?: HookSet;
  /** What `init_hook` returned. */
  readonly globalCtx?: unknown;
  readonly remote: RemoteClient;
  readonly log: Logger;
  /** Milliseconds after which a hook's pending promise fails its request; 0 (default) = never. */
  readonly hookTimeoutMs?: number;
}

/** Runs requests through pre1 → model1 → post1 → pre2 → … or through `process`. */
export class Pipeline {
  readonly signatures: Readonly<Record<string, Signature>>;
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.signatures = pipelineSignatures(parts.models, parts.hooks);
  }

  /** Runs one request; throws only ServingError. */
  async run(request: PipelineRequest): Promise<PipelineResult> {
    try {
      return await this.#run(request);
    } catch (reason) {
      if (request.signal.aborted && !(reason instanceof ServingError)) throw ServingError.from(request.signal.reason);
      throw ServingError.from(reason);
    }
  }

  async #run(request: PipelineRequest): Promise<PipelineResult> {
    const received = openPayload(request.inputs);
    const { hooks } = this.#parts;
    if (hooks === undefined) {
      return this.#seal(await this.#runStages(received, request), request, undefined);
    }
    const ctx = this.#context(request);
    const inputs = this.#checkDeclared(received, request);
    const first = ctx.drivers[0] as BoundStage;
    const values =
      hooks.process === undefined
        ? await this.#runStages(inputs, request, ctx)
        : await this.#runHook({ hook: hooks.process, place: "process", args: first.args }, inputs, ctx);
    return this.#seal(values, request, ctx);
  }

  async #runStages(inputs: Values, request: PipelineRequest, ctx?: HookContext): Promise<Values> {
    let step: Step = { values: inputs, giver: undefined };
    for (const [index, model] of this.#parts.models.entries()) {
      step = await this.#runStage(index, model, step, request, ctx);
    }
    return step.values;
  }

  async #runStage(
    index: number,
    model: ModelHandle,
    step: Step,
    request: PipelineRequest,
    ctx?: HookContext,
  ): Promise<Step> {
    const before = await this.#runSlot("preprocess", index, step, ctx);
    const { skip, values } = before === step ? { skip: false, values: step.values } : takeSkip(before.values);
    request.signal.throwIfAborted();
    const outputs = skip ? values : await this.#predict(index, model, { ...before, values }, request);
    return this.#runSlot("postprocess", index, { values: outputs, giver: `Model ${index + 1}` }, ctx);
  }

  async #runSlot(name: "preprocess" | "postprocess", index: number, step: Step, ctx?: HookContext): Promise<Step> {
    const slots = this.#parts.hooks?.[name];
    const hook = slots?.[index];
    if (!hook || ctx === undefined) return step;
    const place = slots.length === 1 ? name : `${name}[${index}]`;
    const { args } = ctx.drivers[index] as BoundStage;
    return { values: await this.#runHook({ hook, place, args }, step.values, ctx), giver: `The hook ${place}` };
  }

  #runHook(placed: PlacedHook, values: Values, ctx: HookContext): Promise<Values> {
    return runHook(placed, values, ctx, this.#parts.hookTimeoutMs);
  }

  async #predict(
    index: number,
    model: ModelHandle,
    { values, giver }: Step,
    request: PipelineRequest,
  ): Promise<Values> {
    if (model.echoes && request.inputs.kind === "json") return values;
    // Where no hook gave them, they are what a codec or a model made.
    const areTensors = this.#parts.hooks === undefined && request.inputs.kind === "tensors";
    const signature = this.#stageSignature(model, request);
    const last = index === this.#parts.models.length - 1 && !this.#parts.hooks?.postprocess[index];
    const outputs = last && request.outputs !== undefined ? { outputs: request.outputs } : {};
    try {
      const inputs = areTensors
        ? (values as Tensors)
        : toTensors(values, dtypesOf(model.signatures[signature]?.inputs));
      // Without hooks nobody else holds these tensors; a hook may have kept them.
      const give = this.#parts.hooks === undefined;
      return await model.predict(inputs, { signature, give, ...outputs, ...callLimits(request) });
    } catch (reason) {
      throw giver === undefined
        ? reason
        : blameHook(reason, `${giver} gave ${this.#place(index)} what it does not take`);
    }
  }

  /** The signature that was asked for means the only model's; in a chain each model runs its default. */
  #stageSignature(model: ModelHandle, { info }: PipelineRequest): string {
    return this.#parts.models.length === 1 && info.signature !== "" ? info.signature : model.defaultSignature;
  }

  /** Inputs that hooks declare are checked before any hook runs. */
  #checkDeclared(values: Values, { inputs }: PipelineRequest): Values {
    const declared = this.#parts.hooks?.inputs;
    if (declared === undefined || inputs.kind === "json") return values;
    return checkInputs(values as Tensors, declared);
  }

  #seal(values: Values, request: PipelineRequest, ctx: HookContext | undefined): PipelineResult {
    const { metadata, contentType } = ctx?.response ?? { metadata: {} };
    const outputs = sealOutputs(values, request, this.#parts.hooks !== undefined);
    return { outputs, metadata, ...(contentType !== undefined && { contentType }) };
  }

  #context(request: PipelineRequest): HookContext {
    const { models, globalCtx, remote, log } = this.#parts;
    const { info, metadata, signal } = request;
    // A hook may start any number of calls that end with the request.
    setMaxListeners(0, signal);
    return createContext({
      drivers: models.map((model, index) => new BoundStage(model, request, this.#place(index))),
      globalCtx,
      metadata,
      request: info,
      signal,
      log,
      remote: (address) => remoteHandle(remote, address, request),
    });
  }

  #place(index: number): string {
    return this.#parts.models.length === 1 ? "the model" : `model ${index + 1}`;
  }
}

/** Values on their way, and who gave them; the client where that is undefined. */
interface Step {
  readonly values: Values;
  readonly giver: string | undefined;
}

function sealOutputs(values: Values, { inputs, outputs }: PipelineRequest, hasHooks: boolean): Payload {
  const sealed =
    hasHooks || inputs.kind === "json"
      ? sealValues(values, inputs.kind)
      : { kind: inputs.kind, tensors: values as Tensors };
  if (outputs === undefined || sealed.kind === "json") return sealed;
  return { kind: "tensors", tensors: filterOutputs(sealed.tensors, outputs) };
}

function sealValues(values: Values, kind: Payload["kind"]): Payload {
  try {
    return sealPayload(values, kind);
  } catch (reason) {
    throw blameHook(reason, "The last hook returned what cannot be sent");
  }
}

function filterOutputs(tensors: Tensors, wanted: readonly string[]): Tensors {
  const missing = wanted.find((name) => !(name in tensors));
  if (missing === undefined) return createTensors(wanted.map((name) => [name, tensors[name] as never]));
  const known = Object.keys(tensors).join(",");
  throw new ServingError(
    "invalid_argument",
    `output tensor alias not found in signature: ${missing} Outputs expected to be in the set {${known}}.`,
  );
}
