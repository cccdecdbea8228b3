/** Entry of a fuzzer that follows coverage: gives its bytes to the decoder that KSERVING_FUZZ_DECODER names. */
import { createDecoders } from "./decoders.ts";
import { fileDecoders } from "./file-decoders.ts";
import { feed } from "./fuzz.ts";

const name = process.env.KSERVING_FUZZ_DECODER;
const found = Promise.all([createDecoders(), fileDecoders()]).then((all) => {
  const decoder = all.flat().find((one) => one.name === name);
  if (decoder === undefined) throw new Error(`There is no decoder "${name}".`);
  return decoder;
});

/** Rejects for bytes that are neither read nor refused in words, or that take too long. */
export async function fuzz(bytes: Buffer): Promise<void> {
  await feed(await found, Buffer.from(bytes));
}
