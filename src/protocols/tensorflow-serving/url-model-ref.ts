import { invalidArgument } from "../../errors.ts";
import type { ModelRef } from "../../serving/inference-service.ts";
import { parseVersion } from "../../serving/parse-version.ts";

/**
 * The model that the parts of a URL mean: its name, version and label, percent-encoded as they stand there. Throws
 * `invalid_argument` for a version beyond 2^63.
 */
export function toModelRef([, name = "", version, label]: RegExpExecArray): ModelRef {
  const model = percentDecode(name);
  if (label !== undefined) return { model, label: percentDecode(label) };
  if (version === undefined) return { model };
  const number = parseVersion(version);
  if (number !== undefined) return { model, version: number };
  throw invalidArgument(`Failed to convert version: ${version} to numeric.`);
}

/** Keeps invalid encodings unchanged, for which decodeURIComponent would throw. */
function percentDecode(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"));
}
