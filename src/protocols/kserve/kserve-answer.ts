import type { Tensor } from "../../tensor/tensor.ts";

/** The answer to an inference request, the same for either transport. */
export interface KserveAnswer {
  readonly model: string;
  readonly version: bigint;
  readonly id: string;
  readonly outputs: readonly AnsweredOutput[];
  /** gRPC metadata or HTTP headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Number of parts that were written before: this is their end, without outputs. Absent = this is the answer. */
  readonly parts?: number | undefined;
}

/** Takes the parts of an answer, where the transport can carry them; see PartSink. */
export interface KserveParts {
  /**
   * Called once the model is known to answer in parts, before it runs or at the latest before the first of them; absent
   * = it is not told.
   */
  begin?(): void;
  write(part: KserveAnswer): Promise<void>;
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
