import { invalidArgument, ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import { parseJson } from "../../tensor/codecs/json/json-reader.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";
import type { RequestedOutput } from "./kserve-request.ts";
import { NO_PARAMETERS, type Parameter, type Parameters } from "./parameters.ts";
import type { InputHead } from "./raw-tensor.ts";

/** The JSON part of an infer request, before its tensors are made. */
export interface KserveBody {
  readonly id: string;
  readonly parameters: Parameters;
  readonly inputs: readonly JsonInput[];
  readonly outputs: readonly RequestedOutput[];
}

/** One input as the JSON describes it. */
export interface JsonInput extends InputHead {
  readonly parameters: Parameters;
  /** Undefined = its values are in the binary part. */
  readonly data: JsonValue | undefined;
}

/** Parses the JSON part; throws `invalid_argument` with the texts of Triton, whose clients assert on them. */
export function parseKserveBody(text: Uint8Array, budget: DecodeBudget): KserveBody {
  return toKserveBody(parseKserveObject(text, budget), budget);
}

function toKserveBody(body: JsonObject, budget: DecodeBudget): KserveBody {
  const { parameters, inputs: given } = body;
  // Clients that serialise a whole object write null for what they do not set, as MLServer's and KServe's types do.
  const [id, listed] = [body.id ?? "", body.outputs ?? []];
  if (typeof id !== "string") throw unable("id", `it is ${dumpJson(id)}; expected a string`);
  const [inputs, outputs] = [toList("inputs", given), toList("outputs", listed)];
  budget.countInputs(inputs.length);
  budget.countOutputs(outputs.length);
  return {
    id,
    parameters: toParameters(parameters),
    inputs: inputs.map(toInput),
    outputs: outputs.map(toOutput),
  };
}

function toList(member: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (value !== undefined && isJsonList(value)) return value;
  const isList = value instanceof JsonNumbers && value.shape.length > 0;
  throw unable(member, isList ? "it is a list of numbers; expected one of objects" : "it is missing or is not a list");
}

/** Prefix of the JSON reader's messages. */
const READER_PREFIX = /^JSON Parse error: (.*) at offset: (\d+)$/s;

/**
 * Parses a body that is one JSON object, with numbers as in Triton; `repeated` gets the keys that come more than once,
 * of which the first value counts, else the last. Throws `invalid_argument` with Triton's texts.
 */
export function parseKserveObject(text: Uint8Array, budget: DecodeBudget, repeated?: Set<string>): JsonObject {
  try {
    return toRoot(parseJson(text, budget, repeated && { repeated }));
  } catch (reason) {
    throw inTritonsWords(reason);
  }
}

function toRoot(root: JsonValue): JsonObject {
  if (isJsonObject(root)) return root;
  throw invalidArgument(`failed to parse the request JSON buffer: it is ${dumpJson(root)}; expected an object`);
}

function inTritonsWords(cause: unknown): unknown {
  const { code, message } = ServingError.from(cause);
  const [, what, offset] = READER_PREFIX.exec(message) ?? [];
  if (what === undefined) return cause;
  return new ServingError(code, `failed to parse the request JSON buffer: ${what} at ${offset}`, { cause });
}

function toInput(value: JsonValue): JsonInput {
  if (!isJsonObject(value)) throw unable("inputs", `an element is ${dumpJson(value)}; expected an object`);
  const { name, datatype, shape, data } = value;
  const parameters = toParameters(value.parameters);
  if (typeof name !== "string") throw unable("name", `an input has ${shown(name)}; expected a string`);
  if (typeof datatype !== "string") {
    throw unable("datatype", `input '${name}' has ${shown(datatype)}; expected a string such as "FP32"`);
  }
  const isBinary = data === null && BINARY.some((parameter) => parameters.has(parameter));
  return { name, datatype, shape: toShape(shape, name), parameters, data: isBinary ? undefined : data };
}

/** Parameters of an input whose values are not in the JSON. */
const BINARY = ["binary_data_size", "shared_memory_region"];

function toShape(shape: JsonValue | undefined, name: string): readonly number[] {
  if (isJsonList(shape ?? null) && (shape as readonly JsonValue[]).length === 0) return [];
  if (!(shape instanceof JsonNumbers) || shape.shape.length !== 1) {
    throw unable("shape", `input '${name}' has ${shown(shape)}; expected a list of integers`);
  }
  if (shape.size > MAX_RANK) {
    throw unable("shape", `input '${name}' has ${shape.size} dimensions; a tensor may have ${MAX_RANK} at most`);
  }
  const sizes: number[] = [];
  for (let index = 0; index < shape.size; index++) {
    const size = shape.at(index);
    if (!shape.isInteger(index) || size < 0) {
      throw unable("shape", "attempt to access JSON non-unsigned-integer as unsigned-integer");
    }
    // Integers that a number cannot hold exactly; later checks refuse them, since no tensor is that large.
    sizes.push(Number(size));
  }
  return sizes;
}

function toOutput(value: JsonValue): RequestedOutput {
  if (!isJsonObject(value)) throw unable("outputs", `an element is ${dumpJson(value)}; expected an object`);
  const { name, parameters } = value;
  if (typeof name !== "string") throw unable("name", `an output has ${shown(name)}; expected a string`);
  return { name, parameters: toParameters(parameters) };
}

/** Parameters in JSON; one that is null is as absent. */
export function toParameters(value: JsonValue | undefined): Parameters {
  if (value === undefined || value === null) return NO_PARAMETERS;
  if (!isJsonObject(value)) throw unable("parameters", `it is ${dumpJson(value)}; expected an object`);
  const given = Object.entries(value).filter((entry): entry is Given => entry[1] !== null);
  return new Map(given.map(([name, parameter]) => [name, toParameter(name, parameter)]));
}

type Given = [name: string, value: NonNullable<JsonValue>];

function toParameter(name: string, value: NonNullable<JsonValue>): Parameter {
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (value instanceof JsonNumbers && value.shape.length === 0) return value.at(0);
  throw unable("parameters", `'${name}' is ${dumpJson(value)}; expected a number, a string, true or false`);
}

function shown(value: JsonValue | undefined): string {
  return value === undefined ? "none" : dumpJson(value);
}

function unable(member: string, why: string): ServingError {
  return invalidArgument(`Unable to parse '${member}': ${why}`);
}

/** Reads an optional JSON body. */
export async function readObject(exchange: HttpExchange): Promise<JsonObject> {
  const body = await exchange.readSmallBody();
  return body.length === 0 ? {} : parseKserveObject(body, new DecodeBudget(exchange.maxMessageBytes));
}
