import { invalidArgument, type ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { inferDType, type JsonTensorRules, type Mismatch, toJsonTensor } from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import { type TensorSpec, takesImages, toSize } from "../../tensor/signature/signature.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import { createKserveRules, decodeInfer } from "./http-decode.ts";
import { parseKserveObject } from "./http-request.ts";
import { type AnswerForm, readForm } from "./http-response.ts";
import type { KserveRequest } from "./kserve-request.ts";
import type { Parameter } from "./parameters.ts";
import { requestError } from "./request-error.ts";

/** Facts needed to decode a request of the generate extension. */
export interface DecodeGenerateOptions {
  readonly model: string;
  readonly version: string;
  /** Limits the memory of the decoded values. */
  readonly maxBytes: number;
  /** The model's inputs; absent = it takes any. */
  readonly inputs: readonly GenerateInput[] | undefined;
  /** As a signature has them. */
  readonly modelInputs?: readonly GenerateInput[] | undefined;
}

/** The known facts about an input, as plain data. */
export interface GenerateInput extends Pick<TensorSpec, "name" | "dtype"> {
  /** -1 = any size; absent = any rank. */
  readonly shape?: readonly number[] | undefined;
  readonly takesImages: boolean;
}

/** A request of the generate extension. */
export interface GenerateRequest extends KserveRequest<AnswerForm> {
  /** True if it has the form of an infer request, as MLServer's clients send it to the same routes. */
  readonly isInfer: boolean;
}

/** The inputs of a model, as decoding them needs them. */
export function generateInputs(specs: readonly TensorSpec[] | undefined): readonly GenerateInput[] | undefined {
  return specs?.map((spec) => {
    const { name, dtype, shape } = spec;
    return { name, dtype, shape: shape?.map(toSize), takesImages: takesImages(spec) };
  });
}

/**
 * Decodes a request of Triton's generate extension: each key of the object, and of the object `parameters` in it, is an
 * input if the model has one of that name, else a parameter. Of a model that takes any inputs, those are the keys
 * beside `id` and `parameters`. Throws `invalid_argument` with the texts of Triton.
 */
export function decodeGenerate(body: Uint8Array, options: DecodeGenerateOptions): GenerateRequest {
  const { model, version, maxBytes } = options;
  const budget = new DecodeBudget(maxBytes);
  const repeated = new Set<string>();
  const root = parseKserveObject(body, budget, repeated);
  if (isInferBody(root, options))
    return { ...decodeInfer(body, { model, version, maxBytes, headerLength: body.length }), isInfer: true };
  const mapping = new Mapping(options, budget);
  mapping.addRoot(root);
  const { inputs, parameters, modelParameters } = mapping;
  const form = readForm(parameters, []);
  const id = readId(root);
  // The one that is repeated first, as by Triton.
  const twice = repeated.size > 0 ? firstAmong(repeated, new Set(inputs.map(([name]) => name))) : undefined;
  if (twice !== undefined) throw requestError(id, `input '${twice}' already exists in request`);
  if (repeated.has(PARAMETERS)) throw requestError(id, `keyword '${PARAMETERS}' already exists in request`);
  return { model, version, id, parameters, modelParameters, inputs, outputs: [], form, isInfer: false };
}

function firstAmong(keys: ReadonlySet<string>, names: ReadonlySet<string>): string | undefined {
  for (const key of keys) if (names.has(key)) return key;
  return undefined;
}

/** {@link decodeGenerate} for a codec thread. */
export const decodeGenerateJob = defineJob(import.meta.url, "decodeGenerateJob", decodeGenerate);

function isInferBody({ inputs }: JsonObject, { inputs: specs }: DecodeGenerateOptions): boolean {
  if (inputs === undefined || !isJsonList(inputs) || specs?.some(({ name }) => name === "inputs")) return false;
  const [first] = inputs;
  return isJsonObject(first) && first.datatype !== undefined;
}

function readId({ id }: JsonObject): string {
  if (id === undefined || id === null) return "";
  if (typeof id === "string") return id;
  if (id instanceof JsonNumbers && id.shape.length === 0) return String(id.at(0));
  throw invalidArgument(`Unable to parse 'id': attempt to access JSON non-string as string; it is ${dumpJson(id)}`);
}

const PARAMETERS = "parameters";
/** Names of ours, with the type of their values. Triton reads none here: `priority` and `timeout` are the model's. */
const OWN: Readonly<Record<string, string>> = { signature_name: "string", strict_json: "boolean" };

/** The keys of a request as inputs and parameters. */
class Mapping {
  readonly inputs: (readonly [name: string, tensor: Tensor])[] = [];
  /** Those that the server reads. */
  readonly parameters = new Map<string, Parameter>();
  readonly modelParameters = new Map<string, Parameter>();
  readonly #specs: ReadonlyMap<string, GenerateInput> | undefined;
  readonly #modelInputs: readonly GenerateInput[];
  readonly #budget: DecodeBudget;

  constructor({ inputs, modelInputs = [] }: DecodeGenerateOptions, budget: DecodeBudget) {
    this.#budget = budget;
    this.#specs = inputs && new Map(inputs.map((spec) => [spec.name, spec]));
    this.#modelInputs = modelInputs;
  }

  addRoot(root: JsonObject): void {
    // A list of all members would take as long as reading them.
    for (const name in root) {
      const value = root[name] as JsonValue;
      if (name === PARAMETERS) this.#addNested(value);
      else if (this.#specs !== undefined) this.#add(name, value);
      else if (name !== "id" && value !== null) this.#addUndeclared(name, value);
    }
  }

  #addUndeclared(name: string, value: NonNullable<JsonValue>): void {
    this.#budget.countInputs(1);
    this.inputs.push([name, toUndeclared(name, value, this.#modelInputs.find((spec) => spec.name === name)?.dtype)]);
  }

  #addNested(value: JsonValue): void {
    if (this.#specs?.has(PARAMETERS) === true) {
      throw invalidArgument(`Keyword '${PARAMETERS}' for nested schema also given as input tensor name`);
    }
    if (value === null) return;
    if (!isJsonObject(value)) {
      throw invalidArgument(
        `Expected JSON object for keyword: '${PARAMETERS}': attempt to access JSON non-object as object`,
      );
    }
    for (const name in value) this.#add(name, value[name] as JsonValue, `Converting keyword: '${PARAMETERS}': `);
  }

  #add(name: string, value: JsonValue, place = ""): void {
    const spec = this.#specs?.get(name);
    if (spec !== undefined) this.inputs.push([name, toDeclared(value, spec, place)]);
    else if (value !== null && name !== "id") this.#addParameter(name, toParameter(name, value, place));
  }

  #addParameter(name: string, value: Parameter): void {
    const isOwn = Object.hasOwn(OWN, name) && typeof value === OWN[name];
    (isOwn ? this.parameters : this.modelParameters).set(name, value);
  }
}

function toParameter(name: string, value: NonNullable<JsonValue>, place: string): Parameter {
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (value instanceof JsonNumbers && value.shape.length === 0) return value.at(0);
  throw invalidArgument(
    `${place}parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.; it is ${dumpJson(value)}`,
  );
}

function toUndeclared(name: string, value: NonNullable<JsonValue>, likely: DType | undefined): Tensor {
  const tensor = toJsonTensor(value, inferDType([value], undefined, likely), createKserveRules(name));
  return tensor.shape.length === 0 ? reshape(tensor, [1]) : tensor;
}

function toDeclared(value: JsonValue, spec: GenerateInput, place: string): Tensor {
  const { name, dtype, shape } = spec;
  if (spec.takesImages && isEncoded(value)) return flat(toJsonTensor(value, "bytes", rulesOf(name, "bytes", place)));
  const tensor = toJsonTensor(value, dtype, rulesOf(name, dtype, place));
  // Lists within lists say their shape themselves.
  if (tensor.shape.length > 1) return tensor;
  const fitting = fitShape(elementCount(tensor.shape), shape ?? [-1]);
  if (fitting !== undefined) return reshape(tensor, fitting);
  throw invalidArgument(
    `${place}The schema can not convert input '${name}' to tensor with proper shape; it has ${elementCount(tensor.shape)} elements, and the model expects [${shape}]`,
  );
}

/** Encoded images are objects with base64. */
function isEncoded(value: JsonValue): boolean {
  return isJsonObject(value) || (isJsonList(value) && isJsonObject(value[0]));
}

function flat(tensor: Tensor): Tensor {
  return reshape(tensor, [elementCount(tensor.shape)]);
}

/** Triton's rule: the innermost open dimension takes what the fixed ones leave, the other open ones are 1. */
export function fitShape(count: number, shape: readonly number[]): readonly number[] | undefined {
  const fixed = shape.filter((size) => size !== -1).reduce((product, size) => product * size, 1);
  const innermost = shape.lastIndexOf(-1);
  const rest = fixed === 0 ? 0 : count / fixed;
  const sizes = shape.map((size, axis) => (size !== -1 ? size : axis === innermost ? rest : 1));
  return sizes.every(Number.isInteger) && sizes.reduce((product, size) => product * size, 1) === count
    ? sizes
    : undefined;
}

/** Triton's words for what its JSON reader expects of a value. */
const KINDS: Partial<Record<DType, string>> = {
  bool: "boolean",
  bytes: "string",
  float16: "number as double",
  bfloat16: "number as double",
  float32: "number as double",
  float64: "number as double",
};

function rulesOf(input: string, dtype: DType, place: string): JsonTensorRules {
  const rules = createKserveRules(input);
  const refuse = (mismatch: Mismatch) =>
    mismatch.kind === "type" ? wrongKind(dtype, mismatch.value) : rules.refuse(mismatch);
  const wrongKind = (expected: DType, value: JsonValue): ServingError => {
    const kind = KINDS[expected] ?? (expected.startsWith("uint") ? "unsigned-integer" : "signed-integer");
    const text = kind.includes(" as ") ? `non-${kind}` : `non-${kind} as ${kind}`;
    const begin = expected === "bytes" ? "Unable to parse JSON bytes array" : "Unable to parse 'data'";
    return invalidArgument(
      `${place}${begin}: attempt to access JSON ${text}; input '${input}' has ${dumpJson(value)}, which is not a value of ${expected}`,
    );
  };
  const object: JsonTensorRules["object"] = (value, path) => {
    if (typeof value.b64 !== "string") throw wrongKind(dtype, value);
    return rules.object(value, path);
  };
  return { ...rules, refuse, object };
}
