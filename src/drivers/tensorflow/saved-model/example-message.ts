/** `Example`: features by name. */
export interface ExampleMessage {
  readonly features?: { readonly feature: Readonly<Record<string, FeatureMessage>> };
}

/** The values of one feature: byte strings, floats or 64-bit integers. */
export type FeatureValues = readonly (Uint8Array | number | bigint)[];

/** A list of values, maybe empty, and which of the three it is. */
export interface FeatureKind {
  readonly case: "bytesList" | "floatList" | "int64List";
  readonly value: { readonly value: FeatureValues };
}

interface FeatureMessage {
  readonly kind: FeatureKind | { readonly case: undefined; readonly value?: undefined };
}
