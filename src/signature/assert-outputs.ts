import { invalidArgument } from "../errors.ts";

/**
 * Throws `invalid_argument`, with TensorFlow Serving's text, for a wanted output that is not among the known ones;
 * without known ones, any is accepted.
 */
export function assertOutputs(
  wanted: readonly string[] | undefined,
  known: readonly { readonly name: string }[] | undefined,
): void {
  const unknown = wanted?.find((name) => known?.every((output) => output.name !== name));
  if (unknown === undefined) return;
  const names = known?.map(({ name }) => name).sort();
  throw invalidArgument(
    `output tensor alias not found in signature: ${unknown} Outputs expected to be in the set {${names}}.`,
  );
}
