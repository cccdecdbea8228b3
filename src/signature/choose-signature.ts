import { defaultSignatureName, type Signature } from "./signature.ts";

/** The signature that a request runs, found once. */
export interface ChosenSignature {
  readonly name: string;
  /** Undefined where a remote server does not list its signatures. */
  readonly spec: Signature | undefined;
}

/**
 * Finds the signature of a name, the default one of an empty name; undefined for a name that is not among those known.
 */
export function chooseSignature(
  name: string,
  signatures: Readonly<Record<string, Signature>>,
): ChosenSignature | undefined {
  if (name !== "" && Object.hasOwn(signatures, name)) return { name, spec: signatures[name] };
  const defaultName = defaultSignatureName(signatures);
  const spec = signatures[defaultName];
  if (spec === undefined) return { name, spec };
  return name === "" ? { name: defaultName, spec } : undefined;
}
