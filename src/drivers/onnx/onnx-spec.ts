import type { InferenceSession } from "onnxruntime-node";
import { failedPrecondition, type ServingError } from "../../errors.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { DeclaredValue, ModelFile } from "./model-file.ts";
import { toDType } from "./onnx-tensor.ts";

/** Known values of `TensorProto.DataType`; the runtime's JavaScript API supports those marked true. */
const ELEMENT_TYPES: readonly (readonly [name: string, carried: boolean])[] = [
  ["inferred", true],
  ["float32", true],
  ["uint8", true],
  ["int8", true],
  ["uint16", true],
  ["int16", true],
  ["int32", true],
  ["int64", true],
  ["string", true],
  ["bool", true],
  ["float16", true],
  ["float64", true],
  ["uint32", true],
  ["uint64", true],
  ["complex64", false],
  ["complex128", false],
  ["bfloat16", false],
];

const CONVERTED = "cast or convert it in the model.";
/** Converters of classifiers write such outputs unless asked not to. */
const WITHOUT_ZIPMAP =
  'convert the classifier again, with options={"zipmap": False} in skl2onnx, or with zipmap=False in onnxmltools.';

/** Throws `failed_precondition` naming the first input or output that cannot be carried, before the runtime loads anything. */
export function checkDeclaredTypes(file: ModelFile): void {
  for (const value of requiredInputs(file)) checkDeclared("Input", value);
  for (const value of file.outputs) checkDeclared("Output", value);
  if (file.outputs.some(({ name }) => name === "__proto__")) {
    throw failedPrecondition(
      'Output "__proto__" cannot be returned by ONNX Runtime\'s JavaScript API; rename it in the model.',
    );
  }
}

function requiredInputs({ inputs, initializers }: ModelFile): readonly DeclaredValue[] {
  return inputs.filter(({ name }) => !initializers.has(name));
}

function checkDeclared(role: string, { name, kind, elementType }: DeclaredValue): void {
  if (kind === "unknown") return;
  if (kind === "sequence of maps" && role === "Output") throw notCarried(role, name, `a ${kind}`, WITHOUT_ZIPMAP);
  if (kind !== "tensor") throw notCarried(role, name, `${/^o/.test(kind) ? "an" : "a"} ${kind}`);
  const [typeName, carried] = ELEMENT_TYPES[elementType] ?? [`of element type ${elementType}`, false];
  if (!carried) throw notCarried(role, name, typeName);
}

/** The spec of an input or output from the runtime's metadata; the file distinguishes a scalar from an unknown rank. */
export function toTensorSpec(
  role: string,
  value: InferenceSession.ValueMetadata,
  declared: readonly DeclaredValue[] = [],
): TensorSpec {
  const { name } = value;
  const dtype = value.isTensor ? toDType(value.type) : undefined;
  if (!value.isTensor || dtype === undefined) {
    throw notCarried(role, name, value.isTensor ? value.type : "not a tensor");
  }
  const rankIsKnown = value.shape.length > 0 || declared.some((one) => one.name === name && one.hasShape);
  if (!rankIsKnown) return { name, dtype };
  return { name, dtype, shape: value.shape.map((dimension) => (typeof dimension === "number" ? dimension : -1)) };
}

function notCarried(role: string, name: string, what: string, advice = CONVERTED): ServingError {
  return failedPrecondition(
    `${role} "${name}" is ${what}, which ONNX Runtime's JavaScript API does not carry; ${advice}`,
  );
}
