import type { Coverage } from "./coverage.ts";
import type { Decoder } from "./decoder.ts";
import { feed } from "./fuzz.ts";

/** Bytes of an input that is kept: those of a file's samples may be many more. */
const MAX_BYTES = 16_384;

/**
 * Chooses inputs that together take every branch that all of them take and a decoder's samples do not, the shortest
 * first, and leaves out bytes of each without which it takes as many of its own, until it is late.
 */
export async function leastInputs(
  decoder: Decoder,
  inputs: readonly Buffer[],
  coverage: Coverage,
  isLate: () => boolean,
): Promise<Buffer[]> {
  const taken = async (input: Buffer) => {
    coverage.begin();
    await feed(decoder, input).catch(() => {});
    return coverage.taken();
  };
  const known = new Set<number>();
  for (const sample of decoder.samples) for (const branch of await taken(sample)) known.add(branch);
  const least: Buffer[] = [];
  for (const input of inputs.toSorted((one, other) => one.length - other.length)) {
    if (input.length > MAX_BYTES) break;
    const first = new Set(await taken(input));
    // What another run does not take is not the input's doing.
    const own = (await taken(input)).filter((branch) => first.has(branch) && !known.has(branch));
    if (own.length === 0) continue;
    const isAsGood = async (cut: Buffer) => {
      const branches = new Set(await taken(cut));
      return own.every((branch) => branches.has(branch));
    };
    const cut = await shorten(input, isAsGood, isLate);
    for (const branch of await taken(cut)) known.add(branch);
    least.push(cut);
  }
  return least;
}

/** Leaves out halves of an input, quarters, and less, as long as what is left is as good. */
export async function shorten(
  input: Buffer,
  isAsGood: (cut: Buffer) => Promise<boolean>,
  isLate: () => boolean,
): Promise<Buffer> {
  let least = input;
  for (let length = input.length >> 1; length > 0; length >>= 1) {
    for (let at = 0; at < least.length && !isLate(); ) {
      const cut = Buffer.concat([least.subarray(0, at), least.subarray(at + length)]);
      if (await isAsGood(cut)) least = cut;
      else at += length;
    }
  }
  return least;
}
