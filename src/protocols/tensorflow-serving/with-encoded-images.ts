import { isJsonList, isJsonObject, type JsonValue } from "../../codecs/json/json-value.ts";
import { type TensorSpec, takesImages } from "../../signature/signature.ts";
import { isBase64Object } from "./json-tensor-rules.ts";

/**
 * The inputs with the dtype that came: an input may take encoded images too. `first`
 * is the first value of the request for an input.
 */
export function withEncodedImages<Spec extends TensorSpec>(
  specs: readonly Spec[],
  first: (spec: Spec, index: number) => JsonValue | undefined,
): readonly Spec[] {
  if (!specs.some(takesImages)) return specs;
  return specs.map((spec, index) => {
    const isEncoded = takesImages(spec) && isEncodedValue(first(spec, index));
    return isEncoded ? { ...spec, dtype: "bytes" as const } : spec;
  });
}

/** `{"b64": …}` or a text, or a list that begins with one. */
function isEncodedValue(value: JsonValue | undefined): boolean {
  if (value === undefined) return false;
  if (isJsonList(value)) return isEncodedValue(value[0]);
  return typeof value === "string" || (isJsonObject(value) && isBase64Object(value));
}
