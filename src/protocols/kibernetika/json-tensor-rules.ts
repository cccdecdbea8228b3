import { decodeBase64, withoutSpaces } from "../../codecs/json/decode-base64.ts";
import type { JsonTensorRules, Mismatch } from "../../codecs/json/json-tensor.ts";
import { dumpJson, type JsonObject } from "../../codecs/json/json-value.ts";
import { invalidArgument } from "../../errors.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";

/** The original proxy's rules for one input's JSON, and messages that name the place of what breaks them. */
export function createKibernetikaRules(input: string): JsonTensorRules {
  return {
    integers: "values",
    overflow: "infinite",
    nullIsNaN: true,
    text: toBytes,
    object: (object) => decodeObject(input, object),
    refuse: (mismatch) => invalidArgument(`Input "${input}": ${describe(mismatch)}`),
  };
}

/**
 * The bytes of a string: decoded where the whole of it is standard base64 with its
 * padding (line breaks aside), else its UTF-8. So did the original, whose clients
 * encode every string; the price is that a text such as `test` is decoded too.
 */
function toBytes(text: string): string | Uint8Array {
  if (/[^\S\r\n]/.test(text)) return text;
  const packed = /[\r\n]/.test(text) ? withoutSpaces(text) : text;
  const decoded = packed.length % 4 === 0 ? decodeBase64(packed) : undefined;
  return decoded ?? text;
}

function decodeObject(input: string, object: JsonObject): Uint8Array {
  const decoded = typeof object.b64 === "string" ? decodeBase64(object.b64) : undefined;
  if (decoded !== undefined && Object.keys(object).length === 1) return decoded;
  throw invalidArgument(
    `Input "${input}" has the element ${dumpJson(object)}; expected {"b64": BASE64} where an element is an object.`,
  );
}

function describe(mismatch: Mismatch): string {
  const place = `data${mismatch.path.map((index) => `[${index}]`).join("")}`;
  const expected = mismatch.shape[mismatch.path.length];
  switch (mismatch.kind) {
    case "type":
      return `${place} is ${dumpJson(mismatch.value)}; expected ${mismatch.dtype === "bytes" ? "a string" : mismatch.dtype}.`;
    case "size":
      return `${place} has ${mismatch.size} elements, but its first neighbour has ${expected}; a tensor cannot be ragged.`;
    case "list":
      return `${place} is a list, but its first neighbour is one value; a tensor cannot be ragged.`;
    case "value":
      return `${place} is one value, but its first neighbour is a list of ${expected}; a tensor cannot be ragged.`;
    case "rank":
      return `data is nested more than ${MAX_RANK} levels deep.`;
  }
}
