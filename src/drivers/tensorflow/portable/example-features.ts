import type { ExampleMessage, FeatureValues } from "../saved-model/example-message.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";

/** The features of a serialized `tf.train.Example`; throws an Error for any other bytes. */
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
