import { inferDType } from "../../codecs/json/json-dtype.ts";
import { dumpJson } from "../../codecs/json/json-dump.ts";
import { type JsonTensorRules, toJsonTensor } from "../../codecs/json/json-tensor.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../codecs/json/json-value.ts";
import { invalidArgument } from "../../errors.ts";
import type { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import { knownInputs } from "../../signature/known-inputs.ts";
import type { Signature, TensorSpec } from "../../signature/signature.ts";
import { createRecord } from "../../tensor/record.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { createKibernetikaRules } from "../kibernetika/json-tensor-rules.ts";
import { isBase64Object } from "../tensorflow-serving/json-tensor-rules.ts";
import { decodeUrlSafe } from "./decode-url-safe.ts";

/** Name of the only input in requests to the original's platforms that have no signatures, such as ONNX. */
const ANY_INPUT = "data";
/** Name of a list, where nothing names one. */
const UNNAMED_INPUT = "inputs";

/** Options of {@link readData}. */
export interface ReadDataOptions {
  /** Memory that is left for the values. */
  readonly budget: DecodeBudget;
  /** The input whose texts are base64 of its bytes; absent = texts are their own bytes. */
  readonly encodedInput?: string;
}

type Spec = Pick<TensorSpec, "name" | "dtype" | "default">;

/**
 * The tensors of a request's `data`: an object has a value for each input of the signature, and
 * whatever else it has is passed over; a list is the only input's. Numbers become the input's
 * dtype (11.0 an integer's 11). What the signature does not describe has the dtype of its JSON.
 * Throws `invalid_argument` for an input that is missing and a value that is not the input's.
 */
export function readData(data: JsonValue, known: Signature, options: ReadDataOptions): Tensors {
  const specs: readonly Spec[] = known.inputs ?? inferSpecs(data, known, options.budget);
  const named = namedValues(data, specs);
  const tensors = createTensors();
  for (const spec of specs) {
    const value = named[spec.name];
    if (value !== undefined) tensors[spec.name] = toJsonTensor(value, spec.dtype, rulesOf(spec.name, options));
    else if (spec.default === undefined) throw missing(spec.name, data);
  }
  return tensors;
}

function namedValues(data: JsonValue, specs: readonly Spec[]): JsonObject {
  const [only, ...others] = specs;
  const isAlone = only !== undefined && others.length === 0;
  if (!isNamed(data)) {
    if (isAlone) return recordOf(only.name, data);
    const names = specs.map(({ name }) => `'${name}'`).join(", ");
    throw invalidArgument(
      `"data" is one value, and the model has the inputs ${names}; expected an object with a value for each.`,
    );
  }
  const isAny = isAlone && !(only.name in data) && ANY_INPUT in data;
  return isAny ? recordOf(only.name, data[ANY_INPUT] as JsonValue) : data;
}

/** Without a prototype, since the name may be any. */
function recordOf(name: string, value: JsonValue): JsonObject {
  const record = createRecord<JsonValue>();
  record[name] = value;
  return record;
}

function isNamed(data: JsonValue): data is JsonObject {
  return isJsonObject(data) && !isBase64Object(data);
}

function inferSpecs(data: JsonValue, signature: Signature, budget: DecodeBudget): readonly Spec[] {
  const names = knownInputs(signature)?.map(({ name }) => name) ?? [];
  const only = names.length === 1 ? names[0] : undefined;
  if (!isNamed(data)) return [{ name: only ?? UNNAMED_INPUT, dtype: inferDType([data]) }];
  const given = Object.keys(data);
  budget.countInputs(given.length);
  if (only !== undefined && given.length === 1 && given[0] === ANY_INPUT) {
    return [{ name: only, dtype: inferDType([data[ANY_INPUT] as JsonValue]) }];
  }
  return given.map((name) => ({ name, dtype: inferDType([data[name] as JsonValue]) }));
}

function rulesOf(name: string, { encodedInput }: ReadDataOptions): JsonTensorRules {
  const rules = createKibernetikaRules(name);
  return {
    ...rules,
    text: (text) => (name === encodedInput ? bytesOf(name, text) : text),
    object: (object) => (isBase64Object(object) ? bytesOf(name, String(object.b64)) : rules.object(object)),
  };
}

function bytesOf(name: string, text: string): Uint8Array {
  const bytes = decodeUrlSafe(text);
  if (bytes !== undefined) return bytes;
  throw invalidArgument(`Input "${name}" has a text that is not base64, although the request says so.`);
}

function missing(name: string, data: JsonValue) {
  return invalidArgument(
    `Input op name '${name}' does not exist in input data: ${dumpJson(data)}, please check the request JSON`,
  );
}
