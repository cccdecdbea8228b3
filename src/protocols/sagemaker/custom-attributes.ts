import { invalidArgument } from "../../errors.ts";
import { parseVersion } from "../../serving/parse-version.ts";

/** Methods of TensorFlow Serving's REST API. */
const METHODS = ["predict", "classify", "regress"] as const;
type InvokedMethod = (typeof METHODS)[number];

/** Choices that the header `X-Amzn-SageMaker-Custom-Attributes` makes. */
export interface CustomAttributes {
  /** Empty = the default model. */
  readonly model: string;
  readonly version?: bigint;
  readonly method: InvokedMethod;
  /** The method if the header names one. */
  readonly namedMethod?: InvokedMethod;
}

/** Names of bounded length, so that a long header takes time in proportion. */
const ATTRIBUTE = /(tfs-[a-z-]{1,32})=([^,]+)/g;

/**
 * Reads `tfs-model-name=M,tfs-model-version=V,tfs-method=predict`; everything else in the header belongs to hooks.
 * Throws `invalid_argument` for a version that is not a number and an unknown method.
 */
export function readCustomAttributes(header: string | readonly string[] = ""): CustomAttributes {
  const found = new Map(
    Array.from(String(header).matchAll(ATTRIBUTE), ([, key = "", value = ""]) => [key, value.trim()]),
  );
  const { "tfs-method": named } = Object.fromEntries(found);
  const method = named ?? "predict";
  if (!isMethod(method)) {
    throw invalidArgument(`The custom attribute tfs-method is "${method}"; expected ${METHODS.join(", ")}.`);
  }
  const model = found.get("tfs-model-name") ?? "";
  const version = found.get("tfs-model-version");
  const choices = { model, method, ...(named !== undefined && { namedMethod: method }) };
  return version === undefined ? choices : { ...choices, version: toVersion(version) };
}

function isMethod(text: string): text is InvokedMethod {
  return (METHODS as readonly string[]).includes(text);
}

function toVersion(text: string): bigint {
  const version = parseVersion(text);
  if (version !== undefined) return version;
  throw invalidArgument(`The custom attribute tfs-model-version is "${text}"; expected a whole number.`);
}
