import { invalidArgument, ServingError } from "../../errors.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { Signature } from "../../tensor/signature/signature.ts";

type Method = NonNullable<Signature["method"]>;

const METHODS: readonly Method[] = ["predict", "classify", "regress"];
/** The original's words for a signature of the methods that run examples. */
const KINDS = { classify: "classification", regress: "regression" } as const;

/** The method name of a signature, as GetModelMetadata gives it: the model file's own, else that of its API. */
export function methodNameOf({ method = "predict", methodName = nameOf(method) }: Omit<Signature, "inputs">): string {
  return methodName;
}

/** Throws as {@link assertMethodName} does, if method names are to be checked. */
export function checkMethodName(method: Method, signature: Signature | undefined, settings?: ProtocolSettings): void {
  if (settings?.checkMethodNames === true) assertMethodName(method, signature);
}

/**
 * Throws, with the original's texts and codes, if a signature's method name does not let it be run by a method:
 * Predict runs those of all three.
 */
export function assertMethodName(method: Method, signature: Signature = {}): void {
  const name = methodNameOf(signature);
  if (method === "predict") {
    const names = METHODS.map(nameOf);
    if (names.includes(name)) return;
    const text = `Expected prediction signature method_name to be one of {${names.join(", ")}}. Was: ${name}`;
    throw new ServingError("internal", text);
  }
  if (name === nameOf(method)) return;
  throw invalidArgument(`Expected ${KINDS[method]} signature method_name to be ${nameOf(method)}. Was: ${name}`);
}

function nameOf(method: Method): string {
  return `tensorflow/serving/${method}`;
}
