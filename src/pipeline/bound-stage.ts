import type { Signature, TensorSpec } from "../drivers/driver.ts";
import { ServingError } from "../errors.ts";
import type { HookArgs, PredictOptions, StageHandle } from "../hooks/hooks.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { DType } from "../tensor/dtype.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** What limits the calls that belong to one request. */
export interface CallScope {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number;
  /** How long a call may wait for its turn at a model, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number;
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
    const signature = options.signature ?? this.#model.defaultSignature;
    try {
      const tensors = toTensors(inputs, dtypesOf(this.signatures[signature]?.inputs));
      const outputs = options.outputs && { outputs: options.outputs };
      return await this.#model.predict(tensors, { signature, ...outputs, ...callLimits(this.#scope) });
    } catch (reason) {
      throw blameHook(reason, `A hook gave ${this.#place} what it does not take`);
    }
  }
}

/** The limits of a request as a model's call takes them. */
export function callLimits({ signal, deadline, priority = 0, queueTimeoutMs = 0 }: CallScope): CallScope {
  return { signal, priority, queueTimeoutMs, ...(deadline !== undefined && { deadline }) };
}

/** The dtype that each of a signature's inputs takes. */
export function dtypesOf(specs: readonly TensorSpec[] | undefined): (name: string) => DType | undefined {
  return (name) => specs?.find((spec) => spec.name === name)?.dtype;
}

/** A value that came from a hook is never the client's fault: `invalid_argument` becomes `internal`, saying who gave it. */
export function blameHook(reason: unknown, who: string): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `${who}: ${reason.message}`, { cause: reason });
}
