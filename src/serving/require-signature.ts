import { hintedError, unknownName } from "../error-info.ts";
import { type ChosenSignature, chooseSignature, type UsedNames } from "../tensor/signature/choose-signature.ts";
import type { ServableDescription } from "./servable-description.ts";

/**
 * The signature with this name, or the default one for an empty name; throws `failed_precondition` for a name that the
 * servable does not have. `used` as {@link chooseSignature} has it.
 */
export function requireSignature(name: string, { signatures }: ServableDescription, used?: UsedNames): ChosenSignature {
  const chosen = chooseSignature(name, signatures, used);
  if (chosen !== undefined) return chosen;
  const known = Object.keys(signatures);
  const text = `Serving signature key "${name}" not found. There is ${known.join(", ")}.`;
  throw hintedError("failed_precondition", text, unknownName("UNKNOWN_SIGNATURE", name, known));
}
