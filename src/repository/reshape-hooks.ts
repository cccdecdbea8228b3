import type { Hooks } from "../hooks/hooks.ts";
import type { TensorSpec } from "../signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { type Reshape, reshapeSizes } from "./reshape.ts";

/** The tensors of a model as clients send and get them, and the shapes that some have in the model. */
export interface Reshaping {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** By name, from the clients' shape to the model's. */
  readonly ofInputs: ReadonlyMap<string, Reshape>;
  /** By name, from the model's shape to the clients'. */
  readonly ofOutputs: ReadonlyMap<string, Reshape>;
}

/** Hooks that give a model's tensors the shapes that clients have; the values stay where they are. */
export function reshapeHooks({ inputs, outputs, ofInputs, ofOutputs }: Reshaping): Hooks {
  return {
    inputs,
    outputs,
    preprocess: (values) => reshapeAll(values, ofInputs),
    postprocess: (values) => reshapeAll(values, ofOutputs),
  };
}

function reshapeAll(tensors: Tensors, reshapes: ReadonlyMap<string, Reshape>): Tensors {
  return createTensors(
    Object.entries(tensors).map(([name, tensor]) => {
      const reshape = reshapes.get(name);
      const shape = reshape === undefined ? tensor.shape : reshapeSizes(tensor.shape, reshape);
      return [name, { ...tensor, shape } as Tensor];
    }),
  );
}
