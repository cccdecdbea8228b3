import { defineJob } from "../../codec-host/job.ts";
import { parseJson } from "../../codecs/json/json-reader.ts";
import { isJsonObject, type JsonObject } from "../../codecs/json/json-value.ts";
import { invalidArgument, publicText } from "../../errors.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import type { Signature } from "../../signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { type InferenceHead, readHead } from "./inference-head.ts";
import { readData } from "./read-data.ts";

/** The JSON of a request, before the model is known. */
export interface JsonRequest {
  readonly head: InferenceHead;
  readonly root: JsonObject;
  readonly budget: DecodeBudget;
}

/**
 * Parses the JSON of a request. Throws `invalid_argument` for what is not an object
 * with `data`. `maxBytes` bounds what is made of it.
 */
export function parseJsonRequest(body: Uint8Array, maxBytes: number): JsonRequest {
  const budget = new DecodeBudget(maxBytes);
  const root = parseObject(body, budget);
  const head = readHead((name) => root[name]);
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
  return readData(root.data ?? null, known, {
    budget,
    ...(isDecoded && encodedInput !== undefined && { encodedInput }),
  });
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
