import { defaultSignatureName, type Signature } from "./signature.ts";
import { type UsedNames, underUsedNames } from "./used-names.ts";

/** The signature that a request runs, found once. */
export interface ChosenSignature {
  readonly name: string;
  /** Undefined where a remote server does not list its signatures. */
  readonly spec: Signature | undefined;
}

/**
 * Finds the signature of a name, the default one of an empty name; undefined for a name that is not among those known.
 * Its inputs and outputs have the runtime's own names where the request uses them.
 */
export function chooseSignature(
  name: string,
  signatures: Readonly<Record<string, Signature>>,
  used?: UsedNames,
): ChosenSignature | undefined {
  const chosen = findSignature(name, signatures);
  if (used === undefined || chosen?.spec === undefined) return chosen;
  const spec = underUsedNames(chosen.spec, used);
  return spec === chosen.spec ? chosen : { name: chosen.name, spec };
}

function findSignature(name: string, signatures: Readonly<Record<string, Signature>>): ChosenSignature | undefined {
  if (name !== "" && Object.hasOwn(signatures, name)) return { name, spec: signatures[name] };
  const defaultName = defaultSignatureName(signatures);
  const spec = signatures[defaultName];
  if (spec === undefined) return { name, spec };
  return name === "" ? { name: defaultName, spec } : undefined;
}
