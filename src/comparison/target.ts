import type { ExampleInput } from "../signature/example-inputs.ts";
import type { Signature } from "../signature/signature.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** Something that answers the inputs of a comparison. */
export interface Target {
  /** For people: a driver, a path, an address. */
  readonly name: string;
  /** The runtime with its version; absent where it is not known. */
  readonly runtime?: string;
  readonly signature: Signature;
  /** Inputs that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values): Promise<Tensors>;
  close(): Promise<void>;
}
