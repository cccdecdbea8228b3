import type { Tensor } from "../../tensor/tensor.ts";

/** The answer to an inference request, the same for either transport. */
export interface KserveAnswer {
  readonly model: string;
  readonly version: bigint;
  readonly id: string;
  readonly outputs: readonly AnsweredOutput[];
  /** gRPC metadata or HTTP headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** An output, and the protocol's name of its dtype. */
export interface AnsweredOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Absent = its values are in the shared memory that the client named. */
  readonly tensor?: Tensor | undefined;
}

/** The outputs whose values are in the message. */
export function sentTensors({ outputs }: Pick<KserveAnswer, "outputs">): Tensor[] {
  const tensors: Tensor[] = [];
  for (const { tensor } of outputs) if (tensor !== undefined) tensors.push(tensor);
  return tensors;
}
