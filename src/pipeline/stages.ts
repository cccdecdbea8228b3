import { type AnyHook, isGenerator } from "../hooks/generator-hooks.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import { type Hook, type HookContext, type PartsHook, SKIP_KEY } from "../hooks/hooks.ts";
import { type PartsRun, type PlacedHook, runHook, runParts } from "../hooks/run-hook.ts";
import { limitsFor } from "../models/images/image-input.ts";
import type { ModelHandle, ModelParts } from "../models/model-handle.ts";
import type { Logger } from "../observability/logger.ts";
import { loggedId } from "../observability/request-id.ts";
import { type CancelSignal, withOwnSignal } from "../platform/async/cancel-source.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import { isTensor, type Tensors } from "../tensor/tensor.ts";
import { blameHook, dtypesOf } from "./bound-stage.ts";
import type { HookClock, HookKind } from "./hook-times.ts";
import { PartsTimer, timeHook } from "./hook-times.ts";
import type { InferRequest } from "./infer-request.ts";
import type { Step } from "./seal-outputs.ts";

/** Models and the hooks around them. */
export interface StageParts {
  readonly models: readonly ModelHandle[];
  readonly hooks?: HookSet;
  readonly log: Logger;
  /** Time after which a hook's pending promise fails its request, in milliseconds; 0 (default) = never. */
  readonly hookTimeoutMs?: number;
  /** Measures the hooks; absent = there are no hooks, or their times are not read. */
  readonly clock?: HookClock;
}

/** A generator at its place in the pipeline. */
type PlacedParts = Pick<PartsRun, "hook" | "place" | "args">;

/** The client chose the signature, so only an error about the values is a hook's fault. */
const VALUE_FAULTS = ["invalid_argument"] as const;

/** Choices of a run through the stages. */
interface StagesRun {
  readonly ctx?: HookContext | undefined;
  /** Default 0. */
  readonly first?: number;
}

/** One stage of one request. */
interface StageRun {
  readonly index: number;
  readonly model: ModelHandle;
  readonly request: InferRequest;
  readonly ctx: HookContext | undefined;
  /** True if its postprocess is not run. Default false. */
  readonly endsAtModel?: boolean;
}

/** A run of a stage's model. */
interface ModelRun extends Pick<StageRun, "index" | "model" | "request"> {
  /** Takes the parts of its answer; absent = one answer is wanted. */
  readonly parts?: ModelParts;
  /** Default: the request's. */
  readonly signal?: CancelSignal;
}

/** Takes each part of an answer once it has gone through all stages. */
export type TakeStep = (part: Step) => Promise<void>;

/** A request that is answered in parts; without hooks there is no context. */
interface PartedRequest {
  readonly request: InferRequest;
  readonly ctx: HookContext | undefined;
  readonly take: TakeStep;
  readonly onLeft: PartsRun["onLeft"];
}

/** The place of a hook in the chain. */
interface HookSlot {
  readonly kind: "preprocess" | "postprocess";
  readonly index: number;
}

/** A request that runs hooks. */
interface HookedRequest {
  readonly request: InferRequest;
  readonly ctx: HookContext;
}

/** One hook of one request. */
interface HookRun extends HookedRequest {
  readonly kind: HookKind;
  readonly stage: number;
}

/** The stages of a pipeline in their order: pre1 → model1 → post1 → pre2 → … */
export class Stages {
  readonly #parts: StageParts;

  constructor(parts: StageParts) {
    this.#parts = parts;
  }

  /** The requested signature applies to a single model; in a chain each model runs its default. */
  signatureOf(model: ModelHandle, { signature: { name } }: InferRequest): string {
    return this.#parts.models.length === 1 && name !== "" ? name : model.defaultSignature;
  }

  /** A model's name in messages. */
  placeOf(index: number): string {
    return this.#parts.models.length === 1 ? "the model" : `model ${index + 1}`;
  }

  /**
   * The request id, only if each run of a model is logged: it would cost small requests more than their own data.
   */
  tracedId({ call }: InferRequest): string | undefined {
    return this.#parts.log.level === "trace" ? loggedId(call.id) : undefined;
  }

  /** Runs a request through the stages from `first` on; `ctx` is for their hooks. */
  async run(inputs: Values, request: InferRequest, { ctx, first = 0 }: StagesRun = {}): Promise<Step> {
    let step: Step = { values: inputs, giver: undefined };
    for (const [index, model] of this.#parts.models.entries()) {
      if (index >= first) step = await this.#runStage({ index, model, request, ctx }, step);
    }
    return step;
  }

  /** Runs a request through the hook that replaces all stages. */
  async runProcess(hook: AnyHook, inputs: Values, { request, ctx }: HookedRequest): Promise<Step> {
    const { args } = ctx.drivers[0]!;
    const values = await this.#runHook({ hook: hook as Hook, place: "process", args }, inputs, {
      request,
      ctx,
      kind: "process",
      stage: 0,
    });
    return { values, giver: "The hook process" };
  }

  /** {@link runProcess} with a generator. */
  runProcessParts(hook: PartsHook, inputs: Values, parted: PartedRequest & HookedRequest): Promise<void> {
    const { args } = parted.ctx.drivers[0]!;
    const step = { values: inputs, giver: undefined };
    return this.#eachPart({ hook, place: "process", args }, step, { kind: "process", stage: 0, ...parted });
  }

  /**
   * {@link run} with models, or generators after them, that answer in parts: each part goes through all the stages
   * behind it.
   */
  async runParts(inputs: Values, parted: PartedRequest): Promise<void> {
    return this.#runFrom(0, { values: inputs, giver: undefined }, parted);
  }

  async #runFrom(index: number, given: Step, parted: PartedRequest): Promise<void> {
    const { request, ctx } = parted;
    const model = this.#parts.models[index];
    if (model === undefined) return parted.take(given);
    const stage = { index, model, request, ctx, endsAtModel: true };
    if (model.decoupled === true) return this.#eachOfModel(stage, given, parted);
    return this.#runBehind(index, await this.#runStage(stage, given), parted);
  }

  /** Runs all that is behind a model. */
  async #runBehind(index: number, after: Step, parted: PartedRequest): Promise<void> {
    const { request, ctx } = parted;
    const hook = this.#parts.hooks?.postprocess[index];
    if (ctx === undefined || !hook) return this.#runFrom(index + 1, after, parted);
    if (!isGenerator(hook)) {
      const step = await this.#runSlot({ kind: "postprocess", index }, after, { request, ctx });
      return this.#runFrom(index + 1, step, parted);
    }
    const placed = { hook, place: this.#slotPlace("postprocess", index), args: ctx.drivers[index]!.args };
    const run = { kind: "postprocess", stage: index + 1, ...parted, ctx } as const;
    return this.#eachPart(placed, after, { ...run, take: (part) => this.#runFrom(index + 1, part, parted) });
  }

  /** Runs a model that answers in parts, and each of them; settles at once if one is not taken. */
  async #eachOfModel({ index, model }: StageRun, given: Step, parted: PartedRequest): Promise<void> {
    const { request, ctx } = parted;
    const before = ctx ? await this.#runSlot({ kind: "preprocess", index }, given, { request, ctx }) : given;
    const { skip, values } = before === given ? { skip: false, values: given.values } : takeSkip(before.values);
    const step = { ...before, values };
    if (skip) return this.#runBehind(index, step, parted);
    let number = 0;
    const { memory } = request.call;
    const crowded = () => request.parts?.crowded?.();
    return withOwnSignal(request.call.signal, async (signal) => {
      const write = async (part: Tensors) => {
        if (ctx !== undefined) ctx.part = ++number;
        // What the stages behind make of it is another one, and counted apart.
        if (memory !== undefined && !this.#endsAt(index)) memory.partBytes = 0;
        await this.#runBehind(index, ofModel(index, part), parted).catch((reason) => {
          signal.abort(reason);
          throw reason;
        });
      };
      await this.#predict({ index, model, request, parts: { write, crowded }, signal }, step);
    });
  }

  /** True if what a model gives is the answer. */
  #endsAt(index: number): boolean {
    return index === this.#parts.models.length - 1 && !this.#parts.hooks?.postprocess[index];
  }

  #eachPart(placed: PlacedParts, { values }: Step, { take, onLeft, ...run }: PartedRequest & HookRun): Promise<void> {
    const { hookTimeoutMs: timeoutMs = 0, clock } = this.#parts;
    const { ctx, kind, stage } = run;
    const { call } = run.request;
    const giver = `The hook ${placed.place}`;
    const each = (part: Values) => take({ values: part, giver });
    const measure = new PartsTimer({ kind, stage, call, clock });
    return runParts({ values, ctx, signal: call.signal, timeoutMs, onLeft, take: each, measure, ...placed });
  }

  #slotPlace(kind: HookSlot["kind"], index: number): string {
    return this.#parts.models.length === 1 ? kind : `${kind}[${index}]`;
  }

  async #runStage(stage: StageRun, step: Step): Promise<Step> {
    const { index, request, ctx, endsAtModel = false } = stage;
    const hooked = ctx && { request, ctx };
    const before = hooked === undefined ? step : await this.#runSlot({ kind: "preprocess", index }, step, hooked);
    const { skip, values } = before === step ? { skip: false, values: step.values } : takeSkip(before.values);
    request.call.signal.throwIfAborted();
    const outputs = skip ? values : await this.#predict(stage, { ...before, values });
    // The values with which a model was skipped, or which it echoed, still come from the step before.
    const after = outputs === values ? { ...before, values } : ofModel(index, outputs);
    return hooked === undefined || endsAtModel ? after : this.#runSlot({ kind: "postprocess", index }, after, hooked);
  }

  async #runSlot({ kind, index }: HookSlot, step: Step, hooked: HookedRequest): Promise<Step> {
    const slots = this.#parts.hooks?.[kind];
    const hook = slots?.[index];
    if (!hook) return step;
    const place = this.#slotPlace(kind, index);
    const { request, ctx } = hooked;
    const { args } = ctx.drivers[index]!;
    const run = { request, ctx, kind, stage: index + 1 };
    const placed = { hook: hook as Hook, place, args };
    return { values: await this.#runHook(placed, step.values, run), giver: `The hook ${place}` };
  }

  #runHook(placed: PlacedHook, values: Values, { request, ctx, kind, stage }: HookRun): Promise<Values> {
    const { hookTimeoutMs, clock } = this.#parts;
    const run = () => runHook(placed, values, ctx, hookTimeoutMs);
    return timeHook({ kind, stage, call: request.call, clock }, run);
  }

  async #predict({ index, model, request, parts, signal }: ModelRun, { values, giver }: Step): Promise<Values> {
    if (model.echoes && request.inputs.kind === "json") return values;
    // Without hooks, the values were created by a codec or a model.
    const areTensors = this.#parts.hooks === undefined && request.inputs.kind === "tensors";
    const signature = this.signatureOf(model, request);
    const outputs = this.#endsAt(index) ? request.outputs : undefined;
    try {
      const inputs = areTensors
        ? (values as Tensors)
        : toTensors(values, dtypesOf(model.signatures[signature]?.inputs));
      // Without hooks no other code holds these tensors; a hook may have kept them.
      const transfer = this.#parts.hooks === undefined;
      const { limits, memory, timeline } = request.call;
      return await model.predict(inputs, {
        signature,
        outputs,
        targets: undefined,
        parts,
        memory: parts && memory,
        transfer,
        requestId: this.tracedId(request),
        limits: giver === undefined ? limits : limitsFor(inputs, limits),
        signal: signal ?? request.call.signal,
        timeline: timeline?.at(index + 1),
      });
    } catch (reason) {
      throw giver === undefined
        ? reason
        : blameHook(reason, `${giver} gave ${this.placeOf(index)} what it does not take`, VALUE_FAULTS);
    }
  }
}

/** Removes the marker from the values that preprocess returned, and reports if it asked to skip its model. */
function takeSkip(values: Values): { readonly skip: boolean; readonly values: Values } {
  if (!Object.hasOwn(values, SKIP_KEY)) return { skip: false, values };
  const { [SKIP_KEY]: marker, ...rest } = values;
  return { skip: isTruthy(marker), values: rest };
}

/** A tensor or array is truthy when any element is. */
function isTruthy(marker: unknown): boolean {
  if (isTensor(marker)) return isTruthy(marker.data);
  if (Array.isArray(marker) || ArrayBuffer.isView(marker)) {
    return Array.from(marker as ArrayLike<unknown>).some((element) => isTruthy(element));
  }
  return Boolean(marker);
}

function ofModel(index: number, values: Values): Step {
  return { values, giver: `Model ${index + 1}`, isOfModel: true };
}
