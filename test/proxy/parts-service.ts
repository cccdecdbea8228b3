import { notOneAnswer } from "../../src/one-answer.ts";
import { unlessAborted } from "../../src/platform/async/cancel-source.ts";
import type { CallOptions, InferRequest, InferResponse, Lease, ModelRef } from "../../src/serving/inference-service.ts";
import type { ServableDescription } from "../../src/serving/servable-description.ts";
import type { Signature } from "../../src/tensor/signature/signature.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";

/** Makes the outputs of each part. */
export type MakeParts = (inputs: Tensors, call: CallOptions) => AsyncGenerator<Tensors>;

/** A service whose only model answers in parts that a test makes. */
export class PartsService extends ScriptedService {
  /** Headers that hooks have set before the first part. */
  metadata: InferResponse["metadata"] = {};
  readonly #make: MakeParts;
  readonly #signature: Signature | undefined;

  constructor(make: MakeParts, signature?: Signature) {
    super();
    this.#make = make;
    this.#signature = signature;
  }

  override describe(ref: ModelRef): ServableDescription {
    const signatures = this.#signature && { serving_default: this.#signature };
    return { ...super.describe(ref), ...(signatures && { signatures }), decoupled: true };
  }

  override acquire(ref: ModelRef): Lease {
    return { ...super.acquire(ref), infer: (request) => this.#infer(ref, request) };
  }

  async #infer({ model, version = 1n }: ModelRef, request: InferRequest): Promise<InferResponse> {
    const { inputs, parts, call } = request;
    const made = this.#make(inputs.kind === "tensors" ? inputs.tensors : {}, call);
    const toAnswer = (tensors: Tensors): InferResponse => {
      const { metadata } = this;
      return { model, version, signature: "", outputs: { kind: "tensors", tensors }, metadata };
    };
    const answers: InferResponse[] = [];
    try {
      for (;;) {
        const next = await unlessAborted(made.next(), call.signal);
        if (next.done === true) break;
        answers.push(toAnswer(next.value));
        if (parts !== undefined) await parts.write(answers.at(-1) as InferResponse);
        else if (answers.length > 1) throw notOneAnswer(model, 2);
      }
      if (parts !== undefined) return { ...toAnswer({}), parts: answers.length };
      const [only] = answers;
      if (only === undefined) throw notOneAnswer(model, 0);
      return only;
    } finally {
      void made.return(undefined);
    }
  }
}
