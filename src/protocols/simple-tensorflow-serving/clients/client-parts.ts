/** The parts of a generated program that are not its language's. */
export interface ClientParts {
  /** A URL of letters, digits and the characters of `[]:./-`. */
  readonly endpoint: string;
  /** A request on one line, of the characters that plainJsonText leaves. */
  readonly json: string;
}
