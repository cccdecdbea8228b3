import { isUtf8 } from "node:buffer";
import { invalidArgument, publicText } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { parseVersion } from "../../serving/parse-version.ts";
import { decodeBase64 } from "../../tensor/codecs/json/decode-base64.ts";
import { parseJson } from "../../tensor/codecs/json/json-reader.ts";
import { inferDType, type JsonTensorRules, toJsonTensor } from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import { createRecord } from "../../tensor/record.ts";
import { knownInputs, likelyDType, type Signature, type TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { createKibernetikaRules } from "../kibernetika/http-codec.ts";
import { isBase64Object } from "../tensorflow-serving/json-tensor-rules.ts";

/** Name of the only input in requests to the original's platforms that have no signatures, such as ONNX. */
const ANY_INPUT = "data";
/** Name of a list that nothing names. */
const UNNAMED_INPUT = "inputs";

/** Choices that a request makes, in addition to its data. */
export interface InferenceHead {
  /** Undefined = the request names none. */
  readonly model: string | undefined;
  readonly version: bigint | undefined;
  /** Empty = the default one. */
  readonly signature: string;
  /** Names of the inputs, if the request has them. */
  readonly inputs?: readonly string[];
}

/** Values of a request's members by their names, of JSON or of a form; undefined = absent. */
type ReadMember = (name: string) => JsonValue | undefined;

/**
 * Reads the choices that JSON and forms have in common. Throws `invalid_argument` for values of other types,
 * and, with the reason, for choices of the original that are not supported.
 */
export function readHead(member: ReadMember): InferenceHead {
  refuseFunctions(member);
  const model = textOf("model_name", member);
  return { model, version: versionOf(member("model_version")), signature: textOf("signature_name", member) ?? "" };
}

function textOf(name: string, member: ReadMember): string | undefined {
  const value = member(name) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw invalidArgument(`${name} is ${dumpJson(value)}; expected a text.`);
}

/** A number, or its digits as a text. */
function versionOf(value: JsonValue = null): bigint | undefined {
  if (value === null || value === "") return undefined;
  const number = value instanceof JsonNumbers && value.shape.length === 0 ? value.at(0) : value;
  const text = typeof number === "object" ? "" : String(number);
  const version = parseVersion(text);
  if (version !== undefined) return version;
  throw invalidArgument(`model_version is ${dumpJson(value)}; expected a whole number.`);
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  preprocess: "functions of a model are marshalled Python, which would run whatever its file says; write them as hooks",
  postprocess:
    "functions of a model are marshalled Python, which would run whatever its file says; write them as hooks",
  run_profile: "TensorFlow's profile of a run is not made; the header Server-Timing and GET /metrics have times",
};
const OFF: readonly (JsonValue | undefined)[] = [undefined, null, false, "", "false", "False"];

function refuseFunctions(member: ReadMember): void {
  for (const [name, reason] of Object.entries(NOT_TAKEN)) {
    if (!OFF.includes(member(name))) throw invalidArgument(`"${name}" is not taken: ${reason}.`);
  }
}

/** The JSON of a request, before the model is known. */
interface JsonRequest {
  readonly head: InferenceHead;
  readonly root: JsonObject;
  readonly budget: DecodeBudget;
}

/**
 * Parses the JSON of a request. Throws `invalid_argument` for anything but an object
 * with `data`. `maxBytes` limits the memory of the result.
 */
export function parseJsonRequest(body: Uint8Array, maxBytes: number): JsonRequest {
  const budget = new DecodeBudget(maxBytes);
  const root = parseObject(body, budget);
  const head = { ...readHead((name) => root[name]), inputs: isJsonObject(root.data) ? Object.keys(root.data) : [] };
  if ((root.data ?? null) === null) {
    throw invalidArgument("Inference with empty data, please check the request JSON");
  }
  return { head, root, budget };
}

function parseObject(body: Uint8Array, budget: DecodeBudget): JsonObject {
  try {
    const root = parseJson(body, budget);
    if (isJsonObject(root)) return root;
  } catch (reason) {
    throw invalidArgument(`Invalid json data: ${publicText(reason)}`, reason);
  }
  throw invalidArgument('Invalid json data: expected an object such as {"model_name": "default", "data": {…}}');
}

/** The tensors of a request. `encodedInput` = the runtime's name of the input whose texts `base64_decode` means. */
export function readTensors({ root, budget }: JsonRequest, known: Signature, encodedInput?: string): Tensors {
  const isDecoded = root.base64_decode === true || root.base64_decode === "true";
  return readData(root.data ?? null, known, { budget, encodedInput: isDecoded ? encodedInput : undefined });
}

/** The head of a large request, with the body, which the thread gives back. */
export const readHeadJob = defineJob(
  import.meta.url,
  "readHeadJob",
  (body: Uint8Array, maxBytes: number): { readonly head: InferenceHead; readonly body: Uint8Array } => {
    const { model, version, signature } = parseJsonRequest(body, maxBytes).head;
    return { head: { model, version, signature }, body };
  },
);

/**
 * {@link readTensors} of a body for a codec thread. It is parsed again: the signature is known only now, and what
 * parsing made cannot cross threads.
 */
export const readTensorsJob = defineJob(
  import.meta.url,
  "readTensorsJob",
  (body: Uint8Array, known: Signature, encodedInput: string | undefined, maxBytes: number): Tensors =>
    readTensors(parseJsonRequest(body, maxBytes), known, encodedInput),
);

/** Options of {@link readData}. */
interface ReadDataOptions {
  /** Memory that is left for the values. */
  readonly budget: DecodeBudget;
  /** The input whose texts are base64 of its bytes; undefined = texts are their own bytes. */
  readonly encodedInput: string | undefined;
}

type Spec = Pick<TensorSpec, "name" | "dtype" | "default">;

/**
 * The tensors of a request's `data`: an object has a value for each input of the signature, and
 * whatever else it has is passed over; a list is the only input's. Numbers become the input's
 * dtype (11.0 an integer's 11). What the signature does not describe has the dtype of its JSON.
 * Throws `invalid_argument` for an input that is missing and a value that is not the input's.
 */
function readData(data: JsonValue, known: Signature, options: ReadDataOptions): Tensors {
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
  const typed = (name: string, value: JsonValue): Spec => {
    return { name, dtype: inferDType([value], undefined, likelyDType(signature, name)) };
  };
  if (!isNamed(data)) return [typed(only ?? UNNAMED_INPUT, data)];
  const given = Object.keys(data);
  budget.countInputs(given.length);
  if (only !== undefined && given.length === 1 && given[0] === ANY_INPUT) {
    return [typed(only, data[ANY_INPUT] as JsonValue)];
  }
  return given.map((name) => typed(name, data[name] as JsonValue));
}

function rulesOf(name: string, { encodedInput }: ReadDataOptions): JsonTensorRules {
  const rules = createKibernetikaRules(name);
  return {
    ...rules,
    text: (text) => (name === encodedInput ? bytesOf(name, text) : text),
    object: (object, path) => (isBase64Object(object) ? bytesOf(name, String(object.b64)) : rules.object(object, path)),
  };
}

/** The bytes of base64 in the URL-safe alphabet or the standard one. */
function bytesOf(name: string, text: string): Uint8Array {
  const bytes = decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (bytes !== undefined) return bytes;
  throw invalidArgument(`Input "${name}" has a text that is not base64, although the request says so.`);
}

function missing(name: string, data: JsonValue) {
  return invalidArgument(
    `Input op name '${name}' does not exist in input data: ${dumpJson(data)}, please check the request JSON`,
  );
}

/**
 * Writes the outputs as Python's JSON does: NaN and Infinity are words. Bytes are text
 * if they are UTF-8, else `{"b64": …}`.
 */
export function writeOutputs(outputs: Tensors): Uint8Array {
  const writer = new JsonWriter();
  writer.ascii("{");
  for (const [index, [name, tensor]] of Object.entries(outputs).entries()) {
    if (index > 0) writer.ascii(", ");
    writer.string(name);
    writer.ascii(": ");
    writeTensor(writer, tensor, STYLE);
  }
  writer.ascii("}\n");
  return writer.finish();
}

/** {@link writeOutputs} for a codec thread. */
export const writeOutputsJob = defineJob(import.meta.url, "writeOutputsJob", writeOutputs);

const STYLE: TensorStyle = {
  separator: ", ",
  bytes: (writer, element) => {
    if (isUtf8(element)) {
      writer.text(element);
      return;
    }
    writer.ascii('{"b64": ');
    writer.base64(element);
    writer.ascii("}");
  },
};
