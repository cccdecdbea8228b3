import { type DType, integerRange } from "../tensor/dtype.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";

/** Facts about values: a whole input or output, its dtype at least. */
type Valued = Pick<TensorSpec, "dtype"> & Partial<Pick<TensorSpec, "shape" | "labels">>;

/**
 * The JSON schema of a value as nested lists of its shape: `number[][]` with the sizes
 * that are known; any value if the rank is not known.
 */
export function nestedSchema(spec: Valued): object {
  const { shape } = spec;
  if (shape === undefined) return {};
  return shape.reduceRight<object>((items, size) => {
    const exact = typeof size === "number" && size >= 0;
    const bounds = exact ? { minItems: size, maxItems: size } : typeof size === "object" ? boundsOf(size) : {};
    return { type: "array", items, ...bounds };
  }, elementSchema(spec));
}

/**
 * The JSON schema of a value that names its labels. Bytes may be text or base64, so
 * nothing is said of them but that they are there.
 */
export function valueSchema(spec: TensorSpec): object {
  const labels = spec.labels === undefined ? {} : { description: `By index: ${spec.labels.slice(0, 20).join(", ")}` };
  return spec.dtype === "bytes" && spec.labels === undefined ? {} : { ...nestedSchema(spec), ...labels };
}

/** Options of {@link namedSchema}. */
interface NamedSchemaOptions {
  /** Default: all are. */
  readonly isRequired?: (spec: TensorSpec) => boolean;
  /** Default: {@link valueSchema}. */
  readonly schemaOf?: (spec: TensorSpec) => object;
}

/** The JSON schema of an object with a member for each input or output. */
export function namedSchema(
  specs: readonly TensorSpec[],
  { isRequired = () => true, schemaOf = valueSchema }: NamedSchemaOptions = {},
): { readonly type: string; readonly required: readonly string[]; readonly properties: object } {
  const properties = Object.fromEntries(specs.map((spec) => [spec.name, schemaOf(spec)]));
  return { type: "object", required: specs.filter(isRequired).map(({ name }) => name), properties };
}

/** The JSON schema of a value as one list of its elements, in row-major order. */
export function flatSchema(spec: Valued): object {
  return { type: "array", items: elementSchema(spec) };
}

/** A text output with labels is one of them; an output of scores has a label for each. */
function elementSchema({ dtype, labels }: Valued): object {
  const type = typeOf(dtype);
  return dtype === "bytes" && labels !== undefined ? { ...type, enum: labels } : type;
}

function typeOf(dtype: DType): object {
  if (dtype === "bytes") return { type: "string" };
  if (dtype === "bool") return { type: "boolean" };
  const range = integerRange(dtype);
  if (range === undefined) return { type: "number" };
  // Beyond that, JSON's readers round.
  const isExact = range[1] <= Number.MAX_SAFE_INTEGER;
  return { type: "integer", ...(isExact && { minimum: range[0], maximum: range[1] - 1 }) };
}

function boundsOf({ min, max }: { readonly min: number; readonly max: number }): object {
  return { ...(min >= 0 && { minItems: min }), ...(Number.isFinite(max) && max >= 0 && { maxItems: max }) };
}
