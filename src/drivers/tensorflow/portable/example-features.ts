import { parseMessage } from "../saved-model/tensorflow-messages.ts";

/** The values of one feature: byte strings, floats or 64-bit integers. */
export type FeatureValues = readonly (Uint8Array | number | bigint)[];

/** `Example`: features by name. */
export interface ExampleMessage {
  readonly features?: { readonly feature: Readonly<Record<string, FeatureMessage>> };
}

interface FeatureMessage {
  readonly kind:
    | { readonly case: "bytesList" | "floatList" | "int64List"; readonly value: { readonly value: FeatureValues } }
    | { readonly case: undefined; readonly value?: undefined };
}

/** The features of a serialized `tf.train.Example`; throws an Error for bytes that are none. */
export function parseExample(bytes: Uint8Array): ReadonlyMap<string, FeatureValues> {
  const features = parse(bytes).features?.feature ?? {};
  return new Map(Object.entries(features).map(([key, { kind }]) => [key, kind.value?.value ?? []]));
}

function parse(bytes: Uint8Array): ExampleMessage {
  try {
    return parseMessage("Example", bytes);
  } catch (cause) {
    throw new Error("Could not parse example input", { cause });
  }
}
