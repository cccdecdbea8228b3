import { dumpJson } from "../../codecs/json/json-dump.ts";
import { JsonNumbers, type JsonValue } from "../../codecs/json/json-value.ts";
import { invalidArgument } from "../../errors.ts";
import { parseVersion } from "../../serving/parse-version.ts";

/** Choices that a request makes, in addition to its data. */
export interface InferenceHead {
  /** Undefined = the request names none. */
  readonly model: string | undefined;
  readonly version: bigint | undefined;
  /** Empty = the default one. */
  readonly signature: string;
}

/** Values of a request's members by their names, of JSON or of a form; undefined = absent. */
export type ReadMember = (name: string) => JsonValue | undefined;

/**
 * Reads the choices that JSON and forms have in common. Throws `invalid_argument` for values of other types,
 * and, with the reason, for choices of the original that are not supported.
 */
export function readHead(member: ReadMember): InferenceHead {
  refuseFunctions(member);
  const model = textOf("model_name", member);
  return { model, version: versionOf(member("model_version")), signature: textOf("signature_name", member) ?? "" };
}

function textOf(name: string, member: ReadMember): string | undefined {
  const value = member(name) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw invalidArgument(`${name} is ${dumpJson(value)}; expected a text.`);
}

/** A number, or its digits as a text. */
function versionOf(value: JsonValue = null): bigint | undefined {
  if (value === null || value === "") return undefined;
  const number = value instanceof JsonNumbers && value.shape.length === 0 ? value.at(0) : value;
  const text = typeof number === "object" ? "" : String(number);
  const version = parseVersion(text);
  if (version !== undefined) return version;
  throw invalidArgument(`model_version is ${dumpJson(value)}; expected a whole number.`);
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  preprocess: "functions of a model are marshalled Python, which would run whatever its file says; write them as hooks",
  postprocess:
    "functions of a model are marshalled Python, which would run whatever its file says; write them as hooks",
  run_profile: "TensorFlow's profile of a run is not made; the header Server-Timing and GET /metrics have times",
};
const OFF: readonly (JsonValue | undefined)[] = [undefined, null, false, "", "false", "False"];

function refuseFunctions(member: ReadMember): void {
  for (const [name, reason] of Object.entries(NOT_TAKEN)) {
    if (!OFF.includes(member(name))) throw invalidArgument(`"${name}" is not taken: ${reason}.`);
  }
}
