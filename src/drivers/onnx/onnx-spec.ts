import { failedPrecondition, type ServingError } from "../../errors.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { toDType, typeOf } from "./element-types.ts";
import type { OnnxPort } from "./engine.ts";
import type { EngineName } from "./engine-name.ts";
import type { DeclaredValue, ModelFile } from "./model-file.ts";
import { carriedTensor, findUncarried } from "./onnx-type.ts";

/** Element type of a tensor whose declaration leaves it out. */
const INFERRED = 0;
const NONE = { dtype: undefined, shape: [] };
const CONVERTED = "cast or convert it in the model.";
/** Converters of classifiers write such outputs unless asked not to. */
const WITHOUT_ZIPMAP =
  'convert the classifier again, with options={"zipmap": False} in skl2onnx, or with zipmap=False in onnxmltools.';

/**
 * Throws `failed_precondition` naming the first input or output that cannot be
 * carried, before the runtime loads anything.
 */
export function checkDeclaredTypes(file: ModelFile, engine: EngineName): void {
  for (const value of requiredInputs(file)) checkDeclared("Input", value, engine);
  for (const value of file.outputs) checkDeclared("Output", value, engine);
  if (engine === "node" && file.outputs.some(({ name }) => name === "__proto__")) {
    throw failedPrecondition(
      'Output "__proto__" cannot be returned by ONNX Runtime\'s JavaScript API; rename it in the model.',
    );
  }
}

function requiredInputs({ inputs, initializers }: ModelFile): readonly DeclaredValue[] {
  return inputs.filter(({ name }) => !initializers.has(name));
}

function checkDeclared(role: string, { name, kind, elementType }: DeclaredValue, engine: EngineName): void {
  if (kind === "unknown" || (engine === "native" && kind !== "tensor")) return;
  if (kind === "sequence of maps" && role === "Output") throw notCarried(role, name, `a ${kind}`, WITHOUT_ZIPMAP);
  if (kind !== "tensor") throw notCarried(role, name, `${/^o/.test(kind) ? "an" : "a"} ${kind}`);
  if (elementType === INFERRED) return;
  const type = typeOf(elementType);
  if (toDType(type) === undefined || (engine === "node" && type === "bfloat16")) throw notCarried(role, name, type);
}

/**
 * The specs of the inputs or outputs that requests carry, which are tensors; the file distinguishes a scalar from an
 * unknown rank. Throws `failed_precondition` for elements that nothing carries.
 */
export function toTensorSpecs(
  role: "Input" | "Output",
  ports: readonly OnnxPort[],
  declared: readonly DeclaredValue[] = [],
): TensorSpec[] {
  for (const { name, type } of ports) {
    const uncarried = findUncarried(type);
    if (uncarried !== undefined) throw notCarried(role, name, uncarried);
  }
  return ports.flatMap(({ name, type }) => {
    const { dtype, shape } = carriedTensor(role, type) ?? NONE;
    if (dtype === undefined) return [];
    const rankIsKnown = shape.length > 0 || declared.some((one) => one.name === name && one.hasShape);
    if (!rankIsKnown) return [{ name, dtype }];
    return [{ name, dtype, shape: shape.map((dimension) => (typeof dimension === "number" ? dimension : -1)) }];
  });
}

function notCarried(role: string, name: string, what: string, advice = CONVERTED): ServingError {
  return failedPrecondition(`${role} "${name}" is ${what}, which is not carried; ${advice}`);
}
