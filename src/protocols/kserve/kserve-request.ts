import type { MemoryPlace } from "../../platform/shared-memory/shared-memory.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Parameters } from "./parameters.ts";
import type { InputHead } from "./raw-tensor.ts";

/** A ModelInferRequest of either transport, its inputs as tensors, and the form of its answer. */
export interface KserveRequest<Form = unknown> {
  readonly model: string;
  /** As the client wrote it; empty = the highest. */
  readonly version: string;
  /** Empty = the client set none. */
  readonly id: string;
  readonly parameters: Parameters;
  /** Those of the model, whatever their names; absent = all of `parameters` that the protocol does not read itself. */
  readonly modelParameters?: Parameters | undefined;
  /** Those in the message, in the client's order. */
  readonly inputs: readonly (readonly [name: string, tensor: Tensor])[];
  /** Absent = all inputs are in the message. */
  readonly shared?: readonly SharedInput[] | undefined;
  /** Empty = all. */
  readonly outputs: readonly RequestedOutput[];
  /** That of the request, unless the client asked for another one. */
  readonly form: Form;
}

/** An input whose values are in shared memory. */
export interface SharedInput {
  readonly head: InputHead;
  readonly place: MemoryPlace;
}

/** A requested output. */
export interface RequestedOutput {
  readonly name: string;
  readonly parameters: Parameters;
}
