import { typeOfDType } from "../../protocols/tensorflow-serving/tensor-proto.ts";
import type { ExampleInput } from "../../signature/example-inputs.ts";

/** A TensorProto in protobuf's JSON: one element stands for all. */
export function exampleTensorProto(input: ExampleInput): object {
  const { name, fieldName } = typeOfDType(input.dtype);
  const shape = { dim: input.shape.map((size) => ({ size })) };
  return { dtype: name, tensor_shape: shape, [fieldName]: exampleElement(input) };
}

/** One element; a complex one is its two parts. */
function exampleElement({ dtype, element }: ExampleInput): readonly unknown[] {
  if (typeof element !== "number") return [Buffer.from(element).toString("base64")];
  if (dtype === "bool") return [element === 1];
  return dtype.startsWith("complex") ? [element, 0] : [element];
}
