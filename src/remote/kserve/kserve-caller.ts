import type { Tensors } from "../../tensor/tensor.ts";

/** The calls of one wire. */
export interface KserveCaller {
  /** The model's inputs as the server describes them. */
  inputs(): Promise<readonly DescribedTensor[]>;
  predict(inputs: Tensors): Promise<Tensors>;
  close(): void;
}

/** An input or output as KServe V2 describes it; protobuf's JSON has sizes as texts. */
export interface DescribedTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly (number | string)[];
}
