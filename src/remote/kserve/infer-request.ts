import type { Tensors } from "../../tensor/tensor.ts";

/** The name of a model, and a version of it. */
export interface ModelName {
  readonly model: string;
  /** Absent = the server's choice. */
  readonly version?: string;
}

/** A request to a model. */
export interface InferRequest extends ModelName {
  readonly id?: string;
  readonly inputs: Tensors;
  /** Names of the wanted outputs; empty = all. */
  readonly outputs?: readonly string[];
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** The answer of a model. */
export interface InferAnswer {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly outputs: Tensors;
}
