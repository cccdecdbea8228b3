/** A program that sends a request, in no language yet. */
export interface Program {
  readonly url: string;
  readonly parts: readonly Part[];
  /** True where the server wants credentials: the program takes them from the environment. */
  readonly needsCredentials: boolean;
}

/** A part of a body as each language writes it: JSON, a file in base64, or the same value many times. */
export type Part = string | FilePart | { readonly fill: string; readonly count: number };

/** A file, in base64 of the standard alphabet or of the one for URLs. */
interface FilePart {
  readonly file: string;
  readonly isUrlSafe: boolean;
}

/** The comment of programs that need credentials, which are never copied into them. */
export const CREDENTIALS_NOTE =
  'Set AUTHORIZATION to your own credentials: "Bearer TOKEN", or "Basic " and base64 of USER:PASSWORD.';

/** Texts in quotes, with what is written between them. */
export function expression(
  parts: readonly Part[],
  write: (part: Exclude<Part, string>) => string,
  text: (text: string) => string = JSON.stringify,
): string {
  return parts.map((part) => (typeof part === "string" ? text(part) : write(part))).join(" + ");
}
