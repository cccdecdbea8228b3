import * as tf from "@tensorflow/tfjs-core";
import type { LayersModel, SymbolicTensor } from "@tensorflow/tfjs-layers";
import { invalidArgument, publicText, ServingError } from "../../../errors.ts";
import type { DType, NumericDType } from "../../../tensor/dtype.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { Model } from "../../driver.ts";
import { describeInputs, isShapeFault } from "../../run-failure.ts";
import { fromTfjsTensor, refuseEmpty, toTfjsTensor } from "./tfjs-tensor.ts";

/**
 * Serves a model of tfjs-layers, which it takes over: closing frees it. Inputs and outputs are called as its layers
 * are. `inputDTypes` says what an input is if TensorFlow.js has no such dtype.
 */
export function createLayersModel(model: LayersModel, inputDTypes: ReadonlyMap<string, DType> = new Map()): Model {
  const dtypeOf = (name: string, tensor: SymbolicTensor) => inputDTypes.get(name) ?? toDType(tensor);
  const inputs = toSpecs(model.inputs, dtypeOf);
  const outputs = toSpecs(model.outputs, (_, tensor) => toDType(tensor));
  return {
    signatures: { [DEFAULT_SIGNATURE]: { inputs, outputs } },
    isPure: true,
    copiesInputs: true,
    hookArgs: {
      model_inputs: Object.fromEntries(inputs.map(({ name, shape }) => [name, shape])),
      model_outputs: outputs.map(({ name }) => name),
    },
    predict: async (tensors, { outputs: wanted, signal }) => {
      if (signal.aborted) throw ServingError.from(signal.reason);
      refuseEmpty(tensors);
      checkBatch(tensors, inputs);
      const results = run(model, tensors, inputs);
      try {
        const named = outputs.map(({ name, dtype }, index) => ({ name, dtype, result: results[index]! }));
        const chosen = named.filter(({ name }) => wanted?.includes(name) ?? true);
        return createTensors(chosen.map(({ name, dtype, result }) => [name, toOutput(result, dtype as NumericDType)]));
      } finally {
        tf.dispose(results);
      }
    },
    close: async () => {
      model.dispose();
    },
  };
}

function toSpecs(
  tensors: readonly SymbolicTensor[],
  dtypeOf: (name: string, tensor: SymbolicTensor) => DType,
): TensorSpec[] {
  const names = toNames(tensors);
  return tensors.map((tensor, index) => {
    const name = names[index]!;
    return { name, dtype: dtypeOf(name, tensor), shape: tensor.shape.map((size) => size ?? -1) };
  });
}

/** The names of the layers; a layer's second tensor gets `_1`, as in Keras. */
function toNames(tensors: readonly SymbolicTensor[]): string[] {
  const count = new Map<string, number>();
  return tensors.map(({ sourceLayer: { name } }) => {
    const same = count.get(name) ?? 0;
    count.set(name, same + 1);
    return same === 0 ? name : `${name}_${same}`;
  });
}

function toDType({ dtype }: SymbolicTensor): DType {
  return dtype === "int32" || dtype === "bool" ? dtype : "float32";
}

function run(model: LayersModel, tensors: Tensors, inputs: readonly TensorSpec[]): tf.Tensor[] {
  const feeds = inputs.map(({ name }) => toTfjsTensor(tensors[name]!, `Input "${name}"`));
  try {
    return [model.predictOnBatch(feeds)].flat();
  } catch (cause) {
    if (cause instanceof ServingError) throw cause;
    const text = publicText(cause);
    if (!(isShapeFault(text, inputs) || cause instanceof RangeError))
      throw new ServingError("internal", `The model failed: ${text}`, { cause });
    const message = `The model failed: ${text.replace(/\.$/, "")}. ${describeInputs(tensors)}`;
    throw invalidArgument(message, cause);
  } finally {
    tf.dispose(feeds);
  }
}

/** tfjs-layers runs as many rows as the first input has. */
function checkBatch(tensors: Tensors, inputs: readonly TensorSpec[]): void {
  const [first] = inputs;
  const rows = first && tensors[first.name]?.shape[0];
  const other = inputs.find(({ name }) => tensors[name]?.shape[0] !== rows);
  if (first === undefined || other === undefined) return;
  throw invalidArgument(
    `Input "${first.name}" has ${rows} rows and input "${other.name}" has ${tensors[other.name]?.shape[0]}; the model takes as many of each.`,
  );
}

function toOutput(result: tf.Tensor, dtype: NumericDType): Tensor {
  const carried = result.dtype === "int32" || result.dtype === "bool" ? result.dtype : "float32";
  return fromTfjsTensor(result, carried === dtype ? dtype : carried);
}
