import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";

/** Runs a PredictJSON request, the same over either transport. */
export async function inferJson(
  service: InferenceService,
  json: Uint8Array,
  call: CallOptions,
): Promise<InferResponse> {
  const lease = await service.acquire({ model: "" }, call);
  try {
    const signature = requireSignature("", lease.description, usedBy(json, lease.description));
    return await lease.infer({ signature, inputs: { kind: "json", json }, call });
  } finally {
    lease.release();
  }
}

/** Bytes of a text that are looked at: it is parsed elsewhere. */
const HEAD_BYTES = 64 * 1024;

/** Names by which a signature is chosen, of models alone that have several for the names of their inputs. */
function usedBy(json: Uint8Array, { signatures }: ServableDescription) {
  if (!Object.values(signatures).some(({ byInputs }) => byInputs === true)) return undefined;
  const head = Buffer.from(json.buffer, json.byteOffset, Math.min(json.length, HEAD_BYTES)).toString();
  return { inputs: memberNames(head) };
}

/** Names of the members of a JSON object, as far as its beginning has them; of a text that is none, any. */
function memberNames(text: string): readonly string[] {
  const names: string[] = [];
  let [depth, isKey] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const end = endOfText(text, at);
      if (end === undefined) break;
      if (isKey) names.push(text.slice(at + 1, end));
      [at, isKey] = [end, false];
    } else if (character === "{" || character === "[") {
      depth++;
      isKey = character === "{" && depth === 1;
    } else if (character === "}" || character === "]") depth--;
    else if (character === ",") isKey = depth === 1;
  }
  return names;
}

/** The place of the quote that ends a text; undefined = there is none. */
function endOfText(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return undefined;
}
