import { codecs } from "../codec-host/codecs.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../codec-host/large-message.ts";
import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import { createContext } from "../hooks/context.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { Hook, HookContext, RequestInfo } from "../hooks/hooks.ts";
import { type PlacedHook, runHook } from "../hooks/run-hook.ts";
import { limitsOf } from "../limits/call-limits.ts";
import { checkInputs } from "../model-host/check-inputs.ts";
import { mayHoldImages } from "../model-host/images/may-hold-images.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import { RequestLog } from "../observability/request-log.ts";
import type { Signature, TensorSpec } from "../signature/signature.ts";
import { takesPictures } from "../signature/takes-pictures.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { BoundModels } from "./bound-models.ts";
import { BoundStage, blameHook, dtypesOf } from "./bound-stage.ts";
import type { CallOptions } from "./call-options.ts";
import { echoJsonJob, openJsonJob, sealInThread } from "./json-jobs.ts";
import { jsonScratchBytes, openPayload, type Payload } from "./payload.ts";
import { pickOutputs } from "./pick-outputs.ts";
import { type RemoteClient, remoteHandle } from "./remote.ts";
import { type Step, sealOutputs, unsendable } from "./seal-outputs.ts";
import { hookEdges, isSameInput, pipelineSignatures } from "./signatures.ts";
import { takeSkip } from "./skip.ts";

/** One request as the pipeline runs it. */
export interface PipelineRequest {
  readonly info: RequestInfo;
  readonly inputs: Payload;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /** As {@link ModelCall.targets}; only for one model without hooks. */
  readonly targets?: readonly string[] | undefined;
  readonly call: CallOptions;
}

/** Result of a pipeline. */
export interface PipelineResult {
  readonly outputs: Payload;
  /** Metadata or headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
}

/** Parts of a pipeline. */
export interface PipelineParts {
  readonly models: readonly ModelHandle[];
  readonly hooks?: HookSet;
  /** The value that `init_hook` returned. */
  readonly globalCtx?: unknown;
  readonly remote: RemoteClient;
  /** Finds another model of this server, for hooks. */
  readonly findOther: (name: string) => Promise<ModelHandle>;
  readonly log: Logger;
  /** Milliseconds after which a hook's pending promise fails its request; 0 (default) = never. */
  readonly hookTimeoutMs?: number;
}

/** Runs requests through pre1 → model1 → post1 → pre2 → … or through `process`. */
export class Pipeline {
  readonly signatures: Readonly<Record<string, Signature>>;
  readonly #parts: PipelineParts;
  /** True for one model without hooks. */
  readonly #isModelAlone: boolean;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#isModelAlone = parts.hooks === undefined && parts.models.length === 1;
    this.signatures = pipelineSignatures(parts.models, parts.hooks && hookEdges(parts.hooks));
  }

  /** Runs one request; throws only ServingError. */
  async run(request: PipelineRequest): Promise<PipelineResult> {
    try {
      return await (this.#isModelAlone && request.inputs.kind === "tensors"
        ? this.#runModel(request)
        : this.#run(request));
    } catch (reason) {
      const { signal } = request.call;
      if (signal.aborted && !(reason instanceof ServingError)) throw ServingError.from(signal.reason);
      throw ServingError.from(reason);
    }
  }

  async #run(request: PipelineRequest): Promise<PipelineResult> {
    const { hooks } = this.#parts;
    const { inputs: payload } = request;
    if (hooks === undefined && payload.kind === "json") return this.#runJson(request, payload.json);
    const received = openPayload(payload);
    if (hooks === undefined) {
      return this.#seal(await this.#runStages(received, request), request, undefined);
    }
    const ctx = this.#context(request);
    const inputs = this.#checkDeclared(received, request);
    const { process } = hooks;
    const last = process === undefined ? this.#runStages(inputs, request, ctx) : this.#runProcess(process, inputs, ctx);
    return this.#seal(await last, request, ctx);
  }

  /** One model alone, as most requests ask for: each step between would cost a small one a fiftieth of its time. */
  async #runModel(request: PipelineRequest): Promise<PipelineResult> {
    const { outputs, targets, call } = request;
    const model = this.#parts.models[0]!;
    const inputs = openPayload(request.inputs) as Tensors;
    const { signal, deadline, priority, queueTimeoutMs, depth, warmUp, fromHook } = call;
    signal.throwIfAborted();
    const signature = this.#stageSignature(model, request);
    const requestId = this.#tracedId(request);
    const made = await model.predict(inputs, {
      signature,
      outputs,
      targets,
      give: true,
      fromHook,
      requestId,
      signal,
      deadline,
      priority,
      queueTimeoutMs,
      depth,
      warmUp,
    });
    const tensors = outputs === undefined ? made : pickOutputs(made, outputs);
    return { outputs: { kind: "tensors", tensors }, metadata: NO_METADATA };
  }

  /** Without hooks nobody looks at the values but the models: a large text becomes tensors, and tensors a large text, in codec threads. */
  async #runJson(request: PipelineRequest, json: Uint8Array): Promise<PipelineResult> {
    if (json.length <= LARGE_MESSAGE_BYTES) {
      const step = await this.#runStages(openPayload(request.inputs), request);
      return step.giver === undefined ? this.#seal(step, request, undefined) : this.#sealTensors(step, request);
    }
    const { models } = this.#parts;
    const { signal, memory } = request.call;
    const options = { transfer: new Set([json.buffer]), signal, memory, scratchBytes: jsonScratchBytes(json) };
    const first = models.findIndex(({ echoes }) => !echoes);
    const model = models[first];
    if (model === undefined) return toResult(await codecs.run(echoJsonJob, [json], options));
    const wanted = model.signatures[this.#stageSignature(model, request)]?.inputs ?? [];
    const specs = wanted.map(({ name, dtype }) => ({ name, dtype }));
    const tensors = await codecs.run(openJsonJob, [json, specs], options);
    const inner: PipelineRequest = { ...request, inputs: { kind: "tensors", tensors } };
    return this.#sealTensors(await this.#runStages(tensors, inner, undefined, first), request);
  }

  async #sealTensors(step: Step, request: PipelineRequest): Promise<PipelineResult> {
    const tensors = step.values as Tensors;
    if (!isLargeText(Object.values(tensors))) return this.#seal(step, request, undefined);
    const sealed = sealInThread(tensors, request.call);
    return toResult(await sealed.catch((reason) => Promise.reject(unsendable(reason, step))));
  }

  async #runProcess(hook: Hook, inputs: Values, ctx: HookContext): Promise<Step> {
    const { args } = ctx.drivers[0]!;
    const values = await this.#runHook({ hook, place: "process", args }, inputs, ctx);
    return { values, giver: "The hook process" };
  }

  /** Runs the stages from `first` on. */
  async #runStages(inputs: Values, request: PipelineRequest, ctx?: HookContext, first = 0): Promise<Step> {
    let step: Step = { values: inputs, giver: undefined };
    for (const [index, model] of this.#parts.models.entries()) {
      if (index >= first) step = await this.#runStage({ index, model, request, ctx }, step);
    }
    return step;
  }

  async #runStage(stage: StageRun, step: Step): Promise<Step> {
    const { index, request, ctx } = stage;
    const before = ctx === undefined ? step : await this.#runSlot("preprocess", index, step, ctx);
    const { skip, values } = before === step ? { skip: false, values: step.values } : takeSkip(before.values);
    request.call.signal.throwIfAborted();
    const outputs = skip ? values : await this.#predict(stage, { ...before, values });
    // What a model was skipped with, or echoed, is still what was given to it.
    const giver = outputs === values ? before.giver : `Model ${index + 1}`;
    const after = { values: outputs, giver };
    return ctx === undefined ? after : this.#runSlot("postprocess", index, after, ctx);
  }

  async #runSlot(name: "preprocess" | "postprocess", index: number, step: Step, ctx: HookContext): Promise<Step> {
    const slots = this.#parts.hooks?.[name];
    const hook = slots?.[index];
    if (!hook) return step;
    const place = slots.length === 1 ? name : `${name}[${index}]`;
    const { args } = ctx.drivers[index]!;
    return { values: await this.#runHook({ hook, place, args }, step.values, ctx), giver: `The hook ${place}` };
  }

  #runHook(placed: PlacedHook, values: Values, ctx: HookContext): Promise<Values> {
    return runHook(placed, values, ctx, this.#parts.hookTimeoutMs);
  }

  async #predict({ index, model, request }: StageRun, { values, giver }: Step): Promise<Values> {
    if (model.echoes && request.inputs.kind === "json") return values;
    // Where no hook gave them, they are what a codec or a model made.
    const areTensors = this.#parts.hooks === undefined && request.inputs.kind === "tensors";
    const signature = this.#stageSignature(model, request);
    const last = index === this.#parts.models.length - 1 && !this.#parts.hooks?.postprocess[index];
    const outputs = last ? request.outputs : undefined;
    try {
      const inputs = areTensors
        ? (values as Tensors)
        : toTensors(values, dtypesOf(model.signatures[signature]?.inputs));
      // Without hooks nobody else holds these tensors; a hook may have kept them.
      const give = this.#parts.hooks === undefined;
      const isFromHook = giver === undefined ? request.call.fromHook === true : mayHoldImages(inputs);
      const fromHook = isFromHook ? true : undefined;
      const requestId = this.#tracedId(request);
      const call = { signature, outputs, give, fromHook, requestId, ...limitsOf(request.call) };
      return await model.predict(inputs, call);
    } catch (reason) {
      throw giver === undefined
        ? reason
        : blameHook(reason, `${giver} gave ${this.#place(index)} what it does not take`, VALUE_FAULTS);
    }
  }

  /** The signature that was asked for means the only model's; in a chain each model runs its default. */
  #stageSignature(model: ModelHandle, { info }: PipelineRequest): string {
    return this.#parts.models.length === 1 && info.signature !== "" ? info.signature : model.defaultSignature;
  }

  /** Inputs that hooks declare are checked before any hook runs. */
  #checkDeclared(values: Values, request: PipelineRequest): Values {
    const declared = this.#parts.hooks?.inputs;
    if (declared === undefined || request.inputs.kind === "json") return values;
    return checkInputs(values as Tensors, withPictures(declared, values as Tensors, this.#firstInputs(request)));
  }

  /** Inputs of the first model, by the signature that the request asks for. */
  #firstInputs(request: PipelineRequest): readonly TensorSpec[] | undefined {
    const [model] = this.#parts.models;
    return model?.signatures[this.#stageSignature(model, request)]?.inputs;
  }

  #seal(step: Step, request: PipelineRequest, ctx: HookContext | undefined): PipelineResult {
    const { metadata, contentType } = ctx === undefined ? { metadata: {} } : checkResponse(ctx.response);
    const outputs = sealOutputs(step, request, this.#parts.hooks !== undefined);
    return { outputs, metadata, ...(contentType !== undefined && { contentType }) };
  }

  #context(request: PipelineRequest): HookContext {
    const { models, globalCtx, remote, findOther, log } = this.#parts;
    const { info, call } = request;
    const { metadata, signal } = call;
    const scope = { limits: call, requestId: this.#tracedId(request) };
    return createContext({
      drivers: models.map((model, index) => new BoundStage(model, scope, this.#place(index))),
      globalCtx,
      metadata,
      request: info,
      signal,
      log: new RequestLog(log, info.id),
      models: new BoundModels(findOther, scope),
      remote: (address) => remoteHandle(remote, address, call),
    });
  }

  /** The id goes to the models where each of their runs is logged: it would cost small requests more than their own data. */
  #tracedId({ info }: PipelineRequest): string | undefined {
    return this.#parts.log.level === "trace" ? info.id : undefined;
  }

  #place(index: number): string {
    return this.#parts.models.length === 1 ? "the model" : `model ${index + 1}`;
  }
}

/** Declared inputs as the model has them take encoded pictures too: such an input then is one of bytes. */
function withPictures(
  declared: readonly TensorSpec[],
  values: Tensors,
  inputs: readonly TensorSpec[] = [],
): readonly TensorSpec[] {
  const isPicture = (spec: TensorSpec) =>
    values[spec.name]?.dtype === "bytes" && takesPictures(spec) && inputs.some((input) => isSameInput(spec, input));
  return declared.map((spec) => (isPicture(spec) ? { name: spec.name, dtype: "bytes" } : spec));
}

/** The signature was the client's choice: only what the model says of the values is a hook's fault. */
const VALUE_FAULTS = ["invalid_argument"] as const;

/** One stage of one request. */
interface StageRun {
  readonly index: number;
  readonly model: ModelHandle;
  readonly request: PipelineRequest;
  readonly ctx: HookContext | undefined;
}

const NO_METADATA: PipelineResult["metadata"] = {};

function toResult(json: Uint8Array): PipelineResult {
  return { outputs: { kind: "json", json }, metadata: NO_METADATA };
}
