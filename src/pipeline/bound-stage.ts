import { type ErrorCode, invalidArgument, ServingError } from "../errors.ts";
import type { HookArgs, OtherModel, OtherModels, PredictOptions, StageHandle } from "../hooks/hooks.ts";
import { limitsFor } from "../models/images/image-input.ts";
import type { ModelCall, ModelHandle } from "../models/model-handle.ts";
import { isNotOneAnswer } from "../one-answer.ts";
import { followSignal, unlessAborted } from "../platform/async/cancel-source.ts";
import { handParts } from "../platform/async/hand-parts.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import type { DType } from "../tensor/dtype.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Signature, TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { CallOptions } from "./call-options.ts";
import type { PartSink } from "./infer-request.ts";

/** The members of a call that only one in parts has. */
type PartsOfCall = Pick<ModelCall, "parts"> & Partial<Pick<ModelCall, "signal">>;

/** The request that a model's calls belong to. */
export interface CallScope {
  readonly call: Pick<CallOptions, "limits" | "signal" | "timeline">;
  /** For the log; absent unless each run of a model is logged. */
  readonly requestId: string | undefined;
  /** Number of the model's stage, from 1; absent = it is of none. */
  readonly stage?: number;
  /** Knows the streams that are open; absent = they may stay open. */
  readonly streams?: OpenStreams;
  /** Takes the parts of the request's answer; absent = it is answered once. */
  readonly parts?: Pick<PartSink, "crowded"> | undefined;
}

/** The streams of models that the hooks of a request have opened: some may not have read them to their ends. */
export class OpenStreams {
  #open: Set<() => void> | undefined;
  #isOver = false;

  /** Adds what ends a stream; ends one at once that comes after {@link leave}: its hook has outlived the request. */
  add(leave: () => void): void {
    if (this.#isOver) {
      leave();
      return;
    }
    this.#open ??= new Set();
    this.#open.add(leave);
  }

  delete(leave: () => void): void {
    this.#open?.delete(leave);
  }

  /** Ends all of them; the request is over. */
  leave(): void {
    this.#isOver = true;
    for (const leave of this.#open ?? []) leave();
  }
}

/** A stage's model as seen by hooks, bound to one request: its calls end with the request. */
export class BoundStage implements StageHandle {
  readonly #model: ModelHandle;
  readonly #scope: CallScope;
  readonly #place: string;
  #args: HookArgs | undefined;

  /** `place` names the model in messages: `model 2`. */
  constructor(model: ModelHandle, scope: CallScope, place: string) {
    this.#model = model;
    this.#scope = scope;
    this.#place = place;
  }

  get name(): string {
    return this.#model.driver;
  }

  get signatures(): Readonly<Record<string, Signature>> {
    return this.#model.signatures;
  }

  get inputs(): readonly TensorSpec[] | undefined {
    return this.signatures[this.#model.defaultSignature]?.inputs;
  }

  get outputs(): readonly TensorSpec[] | undefined {
    return this.signatures[this.#model.defaultSignature]?.outputs;
  }

  get args(): HookArgs {
    // A spread that is followed by more gives each object a hidden class to itself: docs/decisions/engine-figures.md.
    this.#args ??= Object.assign({}, this.#model.hookArgs, { driver: this });
    return this.#args;
  }

  async predict(inputs: Values, options: PredictOptions = {}): Promise<Tensors> {
    return this.#predict(inputs, options, {});
  }

  async *stream(inputs: Values, options: PredictOptions = {}): AsyncGenerator<Tensors, void, undefined> {
    if (this.#model.decoupled !== true) {
      yield await this.predict(inputs, options);
      return;
    }
    const { call, streams, parts: sink } = this.#scope;
    const crowded = () => sink?.crowded?.();
    const { source: signal, leave: unfollow } = followSignal(call.signal);
    const leave = () => signal.abort(new ServingError("cancelled", `A hook has left the parts of ${this.#place}.`));
    streams?.add(leave);
    try {
      yield* handParts<Tensors>(async (write, leaving) => {
        leaving.addEventListener("abort", leave);
        await unlessAborted(this.#predict(inputs, options, { parts: { write, crowded }, signal }), signal);
        // Nothing is left to end, and an error that is not seen costs as much as a few parts.
        leaving.removeEventListener("abort", leave);
      });
    } finally {
      unfollow();
      streams?.delete(leave);
    }
  }

  async #predict(inputs: Values, options: PredictOptions, own: PartsOfCall): Promise<Tensors> {
    const { signature = this.#model.defaultSignature } = options;
    try {
      checkSignatureName(signature);
      checkOutputNames(options.outputs);
      const tensors = toTensors(inputs, dtypesOf(this.signatures[signature]?.inputs));
      const { call, requestId, stage = 0 } = this.#scope;
      return await this.#model.predict(tensors, {
        signature,
        outputs: options.outputs,
        targets: undefined,
        transfer: false,
        requestId,
        limits: limitsFor(tensors, call.limits),
        signal: call.signal,
        timeline: call.timeline?.at(stage),
        ...own,
      });
    } catch (reason) {
      if (isNotOneAnswer(reason)) throw callsForStream(reason, this.#place);
      throw blameHook(reason, `A hook gave ${this.#place} what it does not take`);
    }
  }
}

/** The client asked for nothing of the kind. */
function callsForStream(reason: ServingError, place: string): ServingError {
  const message = `A hook called predict of ${place}, which answers in parts and did not give exactly one: call stream.`;
  return new ServingError("internal", message, { cause: reason });
}

/** JavaScript callers may pass any value. */
function checkSignatureName(signature: unknown): void {
  if (typeof signature === "string") return;
  throw invalidArgument(`signature is ${kindOf(signature)}; expected a signature's name.`);
}

function checkOutputNames(outputs: unknown): void {
  if (outputs === undefined || (Array.isArray(outputs) && outputs.every((name) => typeof name === "string"))) return;
  throw invalidArgument(`outputs is ${kindOf(outputs)}; expected an array of output names.`);
}

/** The dtype that each of a signature's inputs takes. */
export function dtypesOf(specs: readonly TensorSpec[] | undefined): (name: string) => DType | undefined {
  return (name) => specs?.find((spec) => spec.name === name)?.dtype;
}

/** Codes of errors that a value or a choice of a hook causes. */
const HOOK_FAULTS: readonly ErrorCode[] = ["invalid_argument", "failed_precondition"];

/**
 * Makes an error with one of `faults` as its code `internal`, naming the hook: a value from a hook is never the
 * client's fault.
 */
export function blameHook(reason: unknown, who: string, faults = HOOK_FAULTS): unknown {
  if (!(reason instanceof ServingError) || !faults.includes(reason.code)) return reason;
  return new ServingError("internal", `${who}: ${reason.message}`, { cause: reason });
}

/** Finds a model by its name; `refusing` = what was found before, and has refused a hook's values. */
export type FindModel = (name: string, refusing?: ModelHandle) => Promise<ModelHandle>;

/** The other models of this server as seen by hooks, bound to one request: their calls end with the request. */
export class BoundModels implements OtherModels {
  readonly #find: FindModel;
  readonly #scope: CallScope;

  constructor(find: FindModel, scope: CallScope) {
    this.#find = find;
    this.#scope = scope;
  }

  get(name: string): OtherModel {
    if (typeof name !== "string" || name === "") {
      throw invalidArgument(`models.get got ${kindOf(name)}; expected the name of a model of this server.`);
    }
    const find = this.#find;
    const at = (model: ModelHandle) => new BoundStage(model, this.#scope, `the model ${name}`);
    // The model as it is now, if a refusal shows that it is not the one that was known; else throws the reason.
    const findAgain = async (model: ModelHandle, reason: unknown) => {
      const isRefused = reason instanceof ServingError && reason.cause instanceof ServingError;
      const now = isRefused ? await find(name, model).catch(() => model) : model;
      if (now === model) throw reason;
      return now;
    };
    return {
      predict: async (inputs, options) => {
        const model = await find(name);
        try {
          return await at(model).predict(inputs, options);
        } catch (reason) {
          return at(await findAgain(model, reason)).predict(inputs, options);
        }
      },
      stream: async function* (inputs, options) {
        const model = await find(name);
        let isBegun = false;
        try {
          for await (const part of at(model).stream(inputs, options)) {
            isBegun = true;
            yield part;
          }
        } catch (reason) {
          if (isBegun) throw reason;
          yield* at(await findAgain(model, reason)).stream(inputs, options);
        }
      },
    };
  }
}
