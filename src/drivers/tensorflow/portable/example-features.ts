import type { ExampleMessage, FeatureKind } from "../saved-model/example-message.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";

/** The features of a serialized `tf.train.Example` that have a kind; throws an Error for any other bytes. */
export function parseExample(bytes: Uint8Array): ReadonlyMap<string, FeatureKind> {
  const features = Object.entries(parse(bytes).features?.feature ?? {});
  return new Map(features.flatMap(([key, { kind }]) => (kind.case === undefined ? [] : [[key, kind]])));
}

function parse(bytes: Uint8Array): ExampleMessage {
  try {
    return parseMessage("Example", bytes);
  } catch (cause) {
    throw new Error("Could not parse example input", { cause });
  }
}
