import type { CancelSignal } from "../async/cancel-source.ts";
import { type ErrorCode, ServingError } from "../errors.ts";
import type { HookArgs, PredictOptions, StageHandle } from "../hooks/hooks.ts";
import { kindOf } from "../hooks/kind-of.ts";
import { mayHoldImages } from "../model-host/images/may-hold-images.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Signature, TensorSpec } from "../signature/signature.ts";
import type { DType } from "../tensor/dtype.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** What limits the calls that belong to one request. */
export interface CallScope {
  readonly signal: CancelSignal;
  /** Milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number | undefined;
  /** How long a call may wait for its turn at a model, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number | undefined;
  /** For the log; absent unless each run of a model is logged. */
  readonly requestId?: string | undefined;
}

/** A stage's model as hooks see it, bound to one request: its calls end with the request. */
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
    this.#args ??= { ...this.#model.hookArgs, driver: this };
    return this.#args;
  }

  async predict(inputs: Values, options: PredictOptions = {}): Promise<Tensors> {
    const { signature = this.#model.defaultSignature } = options;
    try {
      checkSignatureName(signature);
      checkOutputNames(options.outputs);
      const tensors = toTensors(inputs, dtypesOf(this.signatures[signature]?.inputs));
      const { signal, deadline, priority, queueTimeoutMs, requestId } = this.#scope;
      const limits = { signal, deadline, priority, queueTimeoutMs, ...(mayHoldImages(tensors) && { fromHook: true }) };
      return await this.#model.predict(tensors, { signature, outputs: options.outputs, ...limits, requestId });
    } catch (reason) {
      throw blameHook(reason, `A hook gave ${this.#place} what it does not take`);
    }
  }
}

/** JavaScript may pass anything. */
function checkSignatureName(signature: unknown): void {
  if (typeof signature === "string") return;
  throw new ServingError("invalid_argument", `signature is ${kindOf(signature)}; expected a signature's name.`);
}

function checkOutputNames(outputs: unknown): void {
  if (outputs === undefined || (Array.isArray(outputs) && outputs.every((name) => typeof name === "string"))) return;
  throw new ServingError("invalid_argument", `outputs is ${kindOf(outputs)}; expected an array of output names.`);
}

/** The dtype that each of a signature's inputs takes. */
export function dtypesOf(specs: readonly TensorSpec[] | undefined): (name: string) => DType | undefined {
  return (name) => specs?.find((spec) => spec.name === name)?.dtype;
}

/** What a hook's own value or choice leads to. */
const HOOK_FAULTS: readonly ErrorCode[] = ["invalid_argument", "failed_precondition"];

/** What came from a hook is never the client's fault: an error with one of `faults` as its code becomes `internal`, saying who gave it. */
export function blameHook(reason: unknown, who: string, faults = HOOK_FAULTS): unknown {
  if (!(reason instanceof ServingError) || !faults.includes(reason.code)) return reason;
  return new ServingError("internal", `${who}: ${reason.message}`, { cause: reason });
}
