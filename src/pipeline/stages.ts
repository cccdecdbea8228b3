import type { HookSet } from "../hooks/hook-set.ts";
import type { Hook, HookContext } from "../hooks/hooks.ts";
import { type PlacedHook, runHook } from "../hooks/run-hook.ts";
import { limitsOf } from "../limits/call-limits.ts";
import { mayHoldImages } from "../model-host/images/may-hold-images.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import { loggedId } from "../observability/request-id.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { blameHook, dtypesOf } from "./bound-stage.ts";
import type { PipelineRequest } from "./pipeline-request.ts";
import type { Step } from "./seal-outputs.ts";
import { takeSkip } from "./skip.ts";

/** Models and the hooks around them. */
export interface StageParts {
  readonly models: readonly ModelHandle[];
  readonly hooks?: HookSet;
  readonly log: Logger;
  /** Milliseconds after which a hook's pending promise fails its request; 0 (default) = never. */
  readonly hookTimeoutMs?: number;
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

/** The stages of a pipeline in their order: pre1 → model1 → post1 → pre2 → … */
export class Stages {
  readonly #parts: StageParts;

  constructor(parts: StageParts) {
    this.#parts = parts;
  }

  /** The signature that was asked for means the only model's; in a chain each model runs its default. */
  signatureOf(model: ModelHandle, { info }: PipelineRequest): string {
    return this.#parts.models.length === 1 && info.signature !== "" ? info.signature : model.defaultSignature;
  }

  /** A model's name in messages. */
  placeOf(index: number): string {
    return this.#parts.models.length === 1 ? "the model" : `model ${index + 1}`;
  }

  /** The id goes to the models where each of their runs is logged: it would cost small requests more than their own data. */
  tracedId({ info }: PipelineRequest): string | undefined {
    return this.#parts.log.level === "trace" ? loggedId(info.id) : undefined;
  }

  /** Runs a request through the stages from `first` on. */
  async run(inputs: Values, request: PipelineRequest, ctx?: HookContext, first = 0): Promise<Step> {
    let step: Step = { values: inputs, giver: undefined };
    for (const [index, model] of this.#parts.models.entries()) {
      if (index >= first) step = await this.#runStage({ index, model, request, ctx }, step);
    }
    return step;
  }

  /** Runs a request through the hook that takes the place of all stages. */
  async runProcess(hook: Hook, inputs: Values, ctx: HookContext): Promise<Step> {
    const { args } = ctx.drivers[0]!;
    const values = await this.#runHook({ hook, place: "process", args }, inputs, ctx);
    return { values, giver: "The hook process" };
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
    const signature = this.signatureOf(model, request);
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
      const requestId = this.tracedId(request);
      const call = { signature, outputs, give, fromHook, requestId, ...limitsOf(request.call) };
      return await model.predict(inputs, call);
    } catch (reason) {
      throw giver === undefined
        ? reason
        : blameHook(reason, `${giver} gave ${this.placeOf(index)} what it does not take`, VALUE_FAULTS);
    }
  }
}
