/** A reader of a client's bytes, and bytes that it should take. */
export interface Decoder {
  readonly name: string;
  readonly samples: readonly Buffer[];
  /** Throws ServingError and nothing else. */
  readonly decode: (bytes: Buffer) => unknown;
}
