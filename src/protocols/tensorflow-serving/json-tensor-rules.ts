import { hintedError } from "../../error-info.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import { decodeBase64 } from "../../tensor/codecs/json/decode-base64.ts";
import { type JsonTensorRules, type Mismatch, mismatchHint } from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";

/** The only key of an object with encoded bytes. */
const BASE64_KEY = "b64";
/** Names of TensorFlow that are not ours. */
const TYPE_NAMES: Partial<Record<DType, string>> = {
  float16: "half",
  float32: "float",
  float64: "double",
  bytes: "string",
};

/**
 * TensorFlow Serving's rules for JSON as tensors, and its texts if JSON breaks them. More than the original it takes
 * uint16, half and bfloat16, and it checks the ranges of 8- and 16-bit integers instead of cutting values off.
 */
export const tensorflowRules: JsonTensorRules = {
  integers: "literals",
  overflow: "infinite",
  nullIsNaN: false,
  text: (text) => text,
  object: decodeObject,
  refuse: (mismatch) => {
    const isComplex = mismatch.kind === "type" && mismatch.dtype.startsWith("complex");
    return new ServingError(isComplex ? "unimplemented" : "invalid_argument", describe(mismatch));
  },
};

const UNDECLARED: JsonTensorRules = { ...tensorflowRules, nullIsNaN: true };

/**
 * The rules for inputs with these specs. Where the model declares none, as those of scikit-learn, null is a missing
 * number: KServe's V1 servers, which serve them by the same calls, take it so.
 */
export function rulesOf(specs: readonly unknown[] | undefined): JsonTensorRules {
  return specs === undefined ? UNDECLARED : tensorflowRules;
}

/**
 * The same if values may be missing, which null says: NaN among numbers, and the text given among texts. Truth of which
 * some is missing is numbers.
 */
export function rulesWithMissing(nullText: Uint8Array): JsonTensorRules {
  return { ...UNDECLARED, nullText, truthIsNumber: true };
}

/** The same, whose errors name an input to programs: the texts, which are the original's, do not. */
export function rulesNaming(input: string, rules: JsonTensorRules): JsonTensorRules {
  const refuse: JsonTensorRules["refuse"] = (mismatch) => {
    const { code, message } = ServingError.from(rules.refuse(mismatch));
    return hintedError(code, message, mismatchHint(input, mismatch));
  };
  return { ...rules, refuse };
}

/** Checks that a value is `{"b64": "…"}`: bytes, not a record of named values. */
export function isBase64Object(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && typeof value[BASE64_KEY] === "string" && Object.keys(value).length === 1;
}

function decodeObject(object: JsonObject): Uint8Array {
  const text = isBase64Object(object) ? object[BASE64_KEY] : undefined;
  if (typeof text !== "string") {
    throw invalidArgument(`JSON Value: ${dumpJson(object)} not formatted correctly for base64 data`);
  }
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw invalidArgument("Unable to base64 decode");
  return bytes;
}

function describe(mismatch: Mismatch): string {
  const level = mismatch.path.length;
  const rank = mismatch.shape.length;
  switch (mismatch.kind) {
    case "type":
      return describeType(mismatch.value, mismatch.dtype);
    case "size":
      return `Encountered list at unexpected size: ${mismatch.size} at level: ${level} expected size: ${mismatch.shape[level]}`;
    case "list":
      return `Encountered list at unexpected level: ${level} expected < ${rank}`;
    case "value":
      return `JSON Value: ${dumpJson(mismatch.value)} found at incorrect level: ${level + 1} in the JSON DOM. Expected at level: ${rank}`;
    case "rank":
      return `Encountered lists nested more than ${MAX_RANK} levels deep; a tensor has at most so many dimensions`;
  }
}

function describeType(value: JsonValue, dtype: DType): string {
  const name = TYPE_NAMES[dtype] ?? dtype;
  if (dtype.startsWith("complex")) return `Conversion of JSON Value: ${dumpJson(value)} to type: ${name}`;
  return `JSON Value: ${dumpJson(value)} Type: ${jsonTypeName(value)} is not of expected type: ${name}`;
}

/** The original's name of a value's type. */
export function jsonTypeName(value: JsonValue): string {
  if (value === null) return "Null";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return "String";
  if (isJsonList(value)) return "Array";
  return value instanceof JsonNumbers ? "Number" : "Object";
}
