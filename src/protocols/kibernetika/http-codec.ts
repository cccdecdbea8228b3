import { defineJob } from "../../codec-host/job.ts";
import { parseJson } from "../../codecs/json/json-reader.ts";
import { toJsonTensor } from "../../codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../codecs/json/json-value.ts";
import { invalidArgument } from "../../errors.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import type { DType } from "../../tensor/dtype.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { dtypeOfName, dtypeOfNumber } from "./dtype.ts";
import { createKibernetikaRules } from "./json-tensor-rules.ts";

/** A predict request of the original proxy, from JSON or a form. */
export interface KibernetikaRequest {
  readonly inputs: Tensors;
  /** Names of the outputs wanted; empty = all. */
  readonly outFilter: readonly string[];
  /** The media type for the only output; empty = JSON. */
  readonly outMimeType: string;
}

/**
 * Parses `{"inputs": {NAME: {"dtype", "data"}}, "out_filter": [NAME …], "out_mime_type": TYPE}`. `maxBytes` limits the
 * memory of the result.
 */
export function parseKibernetikaJson(body: Uint8Array, maxBytes: number): KibernetikaRequest {
  const budget = new DecodeBudget(maxBytes);
  return toRequest(parseJson(body, budget), budget);
}

/** {@link parseKibernetikaJson} for a codec thread. */
export const parseKibernetikaJsonJob = defineJob(import.meta.url, "parseKibernetikaJsonJob", parseKibernetikaJson);

function toRequest(root: JsonValue, budget: DecodeBudget): KibernetikaRequest {
  if (!isJsonObject(root)) throw invalidArgument(`The body is ${dumpJson(root)}; expected an object with "inputs".`);
  const { inputs, out_filter: outFilter = null, out_mime_type: outMimeType = null } = root;
  if (!isJsonObject(inputs))
    throw invalidArgument(`"inputs" is missing or is not an object; expected {"NAME": {"dtype", "data"}}.`);
  if (outMimeType !== null && typeof outMimeType !== "string") {
    throw invalidArgument(`"out_mime_type" is ${dumpJson(outMimeType)}; expected a text such as "image/png".`);
  }
  const entries = Object.entries(inputs);
  budget.countInputs(entries.length);
  const tensors = entries.map(([name, input]) => [name, toInput(name, input)] as const);
  return { inputs: createTensors(tensors), outFilter: toNames(outFilter), outMimeType: outMimeType ?? "" };
}

function toNames(value: JsonValue): readonly string[] {
  if (value === null) return [];
  if (isJsonList(value) && value.every((name) => typeof name === "string")) return value as readonly string[];
  throw invalidArgument(`"out_filter" is ${dumpJson(value)}; expected a list of output names.`);
}

function toInput(name: string, input: JsonValue): Tensor {
  if (!isJsonObject(input)) throw invalidArgument(`Input "${name}" is ${dumpJson(input)}; expected {"dtype", "data"}.`);
  if (input.data === undefined) throw invalidArgument(`Input "${name}" has no "data".`);
  return toJsonTensor(input.data, toDType(name, input), createKibernetikaRules(name));
}

function toDType(name: string, { dtype }: JsonObject): DType {
  let found: DType | undefined;
  if (typeof dtype === "string") found = dtypeOfName(dtype);
  else if (dtype instanceof JsonNumbers && dtype.shape.length === 0) found = dtypeOfNumber(Number(dtype.at(0)));
  if (found !== undefined) return found;
  throw invalidArgument(
    `Input "${name}" has dtype ${dtype === undefined ? "missing" : dumpJson(dtype)}; ` +
      `expected a number of TensorFlow's DataType (1 = float32, 3 = int32, 7 = string …) or a name such as "float32".`,
  );
}
