import { invalidArgument } from "../../errors.ts";
import { decodeBase64 } from "../../tensor/codecs/json/decode-base64.ts";
import type { JsonTensorRules, Mismatch } from "../../tensor/codecs/json/json-tensor.ts";
import { dumpJson, type JsonObject } from "../../tensor/codecs/json/json-value.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";

/**
 * KServe V2's rules for the `data` of one input; a BYTES element may be a string or `{"b64": …}`. Null is NaN among
 * numbers, and the text given among texts.
 */
export function createKserveRules(input: string, nullText?: Uint8Array): JsonTensorRules {
  return {
    integers: "values",
    overflow: "refused",
    nullIsNaN: true,
    text: (text) => text,
    object: (object) => decodeObject(input, object),
    refuse: (mismatch) => invalidArgument(`Unable to parse 'data' of input '${input}': ${describe(mismatch)}`),
    ...(nullText && { nullText }),
  };
}

function decodeObject(input: string, object: JsonObject): Uint8Array {
  const decoded = typeof object.b64 === "string" ? decodeBase64(object.b64) : undefined;
  if (decoded !== undefined && Object.keys(object).length === 1) return decoded;
  throw invalidArgument(
    `Unable to parse 'data' of input '${input}': the element ${dumpJson(object)} is not a string or {"b64": BASE64}`,
  );
}

function describe(mismatch: Mismatch): string {
  const place = `element [${mismatch.path.join("][")}]`;
  switch (mismatch.kind) {
    case "type":
      if (mismatch.value === null) return `${place} is null, which is no value of ${mismatch.dtype}`;
      return `${dumpJson(mismatch.value)} is not a value of ${mismatch.dtype}`;
    case "size":
      return `${place} has ${mismatch.size} elements where its neighbours have ${mismatch.shape[mismatch.path.length]}`;
    case "list":
      return `${place} is a list where its neighbours are values`;
    case "value":
      return `${place} is one value where its neighbours are lists`;
    case "rank":
      return `it is nested more than ${MAX_RANK} levels deep`;
  }
}
