import { type DType, isDType } from "../../../tensor/dtype.ts";
import { type LayerConfig, layersOf, nameOf } from "./keras-config.ts";

/** The dtype of each of a model's inputs, by name, as the file has it; TensorFlow.js has fewer. */
export function readInputDTypes(model: LayerConfig): ReadonlyMap<string, DType> {
  const inputs = layersOf(model).filter(({ class_name }) => class_name === "InputLayer");
  return new Map(inputs.map((layer) => [nameOf(layer), toDType(layer.config.dtype)]));
}

function toDType(dtype: unknown): DType {
  return typeof dtype === "string" && isDType(dtype) ? dtype : "float32";
}
