import { invalidArgument } from "../errors.ts";
import { shownAddress } from "./remote-address.ts";

/** An address and the SHA-256 after it. */
export interface CheckedAddress {
  readonly address: string;
  readonly sha256?: string;
}

/** Splits `https://host/model.zip#sha256=HEX`; throws `invalid_argument` for another fragment. */
export function parseSha256(text: string): CheckedAddress {
  const at = text.indexOf("#");
  if (at === -1) return { address: text };
  const [, sha256] = /^sha256=([\da-f]{64})$/i.exec(text.slice(at + 1)) ?? [];
  if (sha256 !== undefined) return { address: text.slice(0, at), sha256: sha256.toLowerCase() };
  throw invalidArgument(
    `${shownAddress(text)} has "#" in it; expected #sha256= and 64 hexadecimal digits, or %23 for the sign itself.`,
  );
}
