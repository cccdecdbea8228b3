import { toTensor } from "../../tensor/plain-value.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { OnnxType } from "./onnx-type.ts";
import type { OnnxMap } from "./onnx-value.ts";

type MapType = Extract<OnnxType, { readonly kind: "map" }>;

/**
 * The keys and the values of a map, each as a list, of the map's type; throws
 * `invalid_argument` for other keys and values.
 */
export function toMapTensors(map: OnnxMap, { keys, of }: MapType, name: string): [keys: Tensor, values: Tensor] {
  const names = Object.keys(map);
  const numbers = keys === "bytes" ? names : names.map((key) => BigInt(key));
  const dtype = of.kind === "tensor" ? of.dtype : undefined;
  return [toTensor(numbers, `${name}'s keys`, keys), toTensor(Object.values(map), `${name}'s values`, dtype)];
}

/** The map of a list of keys and a list of values; texts are UTF-8. */
export function fromMapTensors(keys: Tensor, values: Tensor): OnnxMap {
  const texts = plainElements(keys).map(String);
  const numbers = plainElements(values);
  return Object.fromEntries(texts.map((key, index) => [key, numbers[index]!]));
}

function plainElements(tensor: Tensor): (number | bigint | string)[] {
  if (tensor.dtype !== "bytes") return Array.from<number | bigint>(tensor.data);
  return tensor.data.map((element) => Buffer.from(element).toString());
}
