import type { NodeDef } from "../saved-model/graph-def.ts";
import { TYPE } from "./element-types.ts";

/** Operations whose results are booleans. */
const TESTS =
  /^(Equal|NotEqual|Less|LessEqual|Greater|GreaterEqual|LogicalAnd|LogicalOr|LogicalNot|IsNan|IsInf|IsFinite|All|Any)$/;

/** Attributes with an output's type, for operations where it is not the first of {@link USUAL}. */
const BY_OPERATION: Readonly<Record<string, readonly [attribute: string, fallback: number]>> = {
  ArgMax: ["output_type", TYPE.int64],
  ArgMin: ["output_type", TYPE.int64],
  Bucketize: ["", TYPE.int32],
  Cast: ["DstT", TYPE.float],
  DecodeImage: ["dtype", TYPE.uint8],
  DecodeJpeg: ["", TYPE.uint8],
  DecodePng: ["dtype", TYPE.uint8],
  LookupTableFindV2: ["Tout", TYPE.int64],
  Range: ["Tidx", TYPE.int32],
  Rank: ["", TYPE.int32],
  ResizeBilinear: ["", TYPE.float],
  Shape: ["out_type", TYPE.int32],
  Size: ["out_type", TYPE.int32],
  StringLength: ["", TYPE.int32],
  StringToHashBucketFast: ["", TYPE.int64],
  StringToNumber: ["out_type", TYPE.float],
  Where: ["", TYPE.int64],
};

/** Types of all outputs, where they never vary. */
const FIXED: Readonly<Record<string, readonly number[]>> = {
  AsString: [TYPE.string],
  DecodeBase64: [TYPE.string],
  EncodeBase64: [TYPE.string],
  StaticRegexFullMatch: [TYPE.bool],
  StaticRegexReplace: [TYPE.string],
  StringJoin: [TYPE.string],
  StringLower: [TYPE.string],
  StringSplitV2: [TYPE.int64, TYPE.string, TYPE.int64],
  StringStrip: [TYPE.string],
  StringUpper: [TYPE.string],
  Substr: [TYPE.string],
};

/** Attributes with the output type of most operations. */
const USUAL = ["Tparams", "T", "dtype", "out_type", "Tout", "element_dtype"];

/** The number of an output's type, if its node alone determines it; else undefined. */
export function outputType({ op, attr }: NodeDef, output: number): number | undefined {
  if (TESTS.test(op)) return TYPE.bool;
  const fixed = FIXED[op];
  if (fixed !== undefined) return fixed[output];
  if (/^TopK|^NonMaxSuppression/.test(op) && output === (op.startsWith("TopK") ? 1 : 0)) return TYPE.int32;
  if (op.startsWith("Unique") && output > 0) return typeAttribute(attr, "out_idx") ?? TYPE.int32;
  const [name, fallback] = BY_OPERATION[op] ?? [];
  if (name !== undefined) return typeAttribute(attr, name) ?? fallback;
  for (const usual of USUAL) {
    const found = typeAttribute(attr, usual, output);
    if (found !== undefined) return found;
  }
  return undefined;
}

function typeAttribute(attributes: NodeDef["attr"], name: string, output = 0): number | undefined {
  const attribute = Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined;
  if (attribute?.case === "type") return attribute.value;
  return attribute?.case === "list" ? attribute.value.type[output] : undefined;
}
