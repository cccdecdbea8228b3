import { invalidArgument } from "../errors.ts";

/** A name as it was before it was encoded for a URL; throws `invalid_argument` for one whose "%" encodes nothing. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch (cause) {
    throw invalidArgument(
      `the name ${JSON.stringify(name.slice(0, 200))} has a "%" that encodes nothing; expected %25 for the sign itself.`,
      cause,
    );
  }
}
