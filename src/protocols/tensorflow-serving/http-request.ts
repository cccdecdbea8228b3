import { defineJob } from "../../codec-host/job.ts";
import { inferDType } from "../../codecs/json/json-dtype.ts";
import { dumpJson } from "../../codecs/json/json-dump.ts";
import { type JsonReaderOptions, parseJson } from "../../codecs/json/json-reader.ts";
import { toJsonTensor } from "../../codecs/json/json-tensor.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, listLength } from "../../codecs/json/json-value.ts";
import { ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import type { ServableDescription } from "../../serving/inference-service.ts";
import { defaultSignatureName, type Signature, type TensorSpec } from "../../signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { withEncodedImages } from "./encoded-images.ts";
import { type KnownInputs, readInstances, UNNAMED_INPUT } from "./http-rows.ts";
import { isBase64Object, tensorflowDialect } from "./json-dialect.ts";

/** A predict request's JSON, before the model is known. */
export interface PredictBody {
  readonly root: JsonObject;
  /** Empty = the default signature. */
  readonly signature: string;
  /** What is left to make of it. */
  readonly budget: DecodeBudget;
}

const JSON_OPTIONS: JsonReaderOptions = { lenientNumbers: true, ignoreTrailing: true };

/** Parses the body of a predict request. */
export function parsePredictBody(body: Uint8Array, budget: DecodeBudget): PredictBody {
  if (body.length === 0) throw refusal("JSON Parse error: The document is empty");
  return toPredictBody(parseJson(body, budget, JSON_OPTIONS), budget);
}

function toPredictBody(root: JsonValue, budget: DecodeBudget): PredictBody {
  if (!isJsonObject(root)) throw refusal(`JSON Value: ${dumpJson(root)} Is not object`);
  const { signature_name: signature = "" } = root;
  if (typeof signature === "string") return { root, signature, budget };
  throw refusal(`JSON Value: ${dumpJson(root)} not formatted correctly. 'signature_name' key must be a string value.`);
}

type Described = Pick<ServableDescription, "signatures">;

/** The signature that a request names; undefined where the service does not tell its signatures. */
export function findSignature(name: string, { signatures }: Described): Signature | undefined {
  const wanted = name === "" ? defaultSignatureName(signatures) : name;
  if (Object.hasOwn(signatures, wanted)) return signatures[wanted];
  if (Object.keys(signatures).length === 0) return undefined;
  throw refusal(`Serving signature name: "${name}" not found in signature def`);
}

/** `row` = a list of instances in, a list of predictions out; `column` = whole tensors in and out. */
export type PredictFormat = "row" | "column";

/** A request's tensors, and the form that they came in, in which the answer goes back. */
export interface PredictInputs {
  readonly format: PredictFormat;
  readonly inputs: Tensors;
}

/** A predict request. */
export interface PredictMessage extends PredictInputs {
  /** As the client named it; empty = the default. */
  readonly signature: string;
}

/** Decodes the body of a predict request for a servable with these signatures. `maxBytes` bounds what is made of it. */
function decodePredict(body: Uint8Array, signatures: Described["signatures"], maxBytes: number): PredictMessage {
  return readPredictBody(parsePredictBody(body, new DecodeBudget(maxBytes)), signatures);
}

/** The request that a body stands for whose JSON was parsed. */
export function readPredictBody(parsed: PredictBody, signatures: Described["signatures"]): PredictMessage {
  const signature = findSignature(parsed.signature, { signatures });
  return { signature: parsed.signature, ...readInputs(parsed, signature) };
}

/** {@link decodePredict} for a codec thread. */
export const decodePredictJob = defineJob(import.meta.url, "decodePredictJob", decodePredict);

/** Reads the tensors; of inputs that the signature does not tell, names and dtypes are what the JSON says. */
export function readInputs(body: PredictBody, known: Signature = {}): PredictInputs {
  const { inputs: specs } = known;
  const { root, signature, budget } = body;
  if (specs?.length === 0) throw refusal(`Failed to get input map for signature: ${signature || "DEFAULT"}`);
  const { instances, inputs } = root;
  if (instances !== undefined && inputs !== undefined) {
    throw refusal(
      `JSON Value: ${dumpJson(root)} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist `,
    );
  }
  if (inputs !== undefined) {
    const columnSpecs = specs && withEncodedImages(specs, ({ name }) => valueNamed(inputs, name));
    return { format: "column", inputs: readColumns(inputs, toKnownInputs(columnSpecs, known), budget) };
  }
  if (instances === undefined) throw refusal("Missing 'inputs' or 'instances' key");
  const length = listLength(instances);
  if (length === undefined) throw refusal(`JSON Value: ${dumpJson(root)} Expecting 'instances' to be an list/array`);
  if (length === 0) throw refusal(`JSON Value: ${dumpJson(root)} No values in 'instances' array`);
  const first = isJsonList(instances) ? instances[0] : undefined;
  const rowSpecs = specs && withEncodedImages(specs, ({ name }) => valueNamed(first, name));
  return { format: "row", inputs: readInstances(instances, toKnownInputs(rowSpecs, known), budget) };
}

/** The value of one name, or the value itself where it has no names. */
function valueNamed(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && !isBase64Object(value) ? value[name] : value;
}

type Specs = readonly TensorSpec[] | undefined;

function toKnownInputs(specs: Specs, { inputNames }: Signature): KnownInputs {
  return { specs, unnamed: inputNames?.length === 1 ? inputNames[0] : undefined };
}

function readColumns(value: JsonValue, { specs, unnamed = UNNAMED_INPUT }: KnownInputs, budget: DecodeBudget): Tensors {
  if (isJsonObject(value) && !isBase64Object(value)) return readNamedColumns(value, specs, budget);
  if (specs !== undefined && specs.length > 1) {
    throw refusal(
      "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map",
    );
  }
  const { name, dtype } = specs?.[0] ?? { name: unnamed, dtype: inferDType([value]) };
  return createTensors([[name, toJsonTensor(value, dtype, tensorflowDialect)]]);
}

function readNamedColumns(columns: JsonObject, specs: Specs, budget: DecodeBudget): Tensors {
  const known = specs ?? inferColumns(columns, budget);
  const tensors = createTensors();
  for (const spec of known) {
    const value = columns[spec.name];
    if (value !== undefined) tensors[spec.name] = toJsonTensor(value, spec.dtype, tensorflowDialect);
    else if (!("default" in spec)) throw refusal(`Missing named input: ${spec.name} in 'inputs' object.`);
  }
  return tensors;
}

/** The names that came; a dtype for each one's value. */
function inferColumns(columns: JsonObject, budget: DecodeBudget): readonly Pick<TensorSpec, "name" | "dtype">[] {
  const names = Object.keys(columns);
  budget.countInputs(names.length);
  return names.map((name) => ({ name, dtype: inferDType([columns[name] as JsonValue]) }));
}

function refusal(message: string): ServingError {
  return new ServingError("invalid_argument", message);
}
