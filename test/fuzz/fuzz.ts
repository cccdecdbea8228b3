import { ServingError } from "../../src/errors.ts";
import type { Random } from "../grpc/random.ts";
import type { Decoder } from "./decoder.ts";
import { mutate } from "./mutate.ts";

/** Results of the messages of one decoder. */
export interface FuzzCount {
  readonly name: string;
  /** Read although they were changed. */
  taken: number;
  refused: number;
}

/** Gives each decoder changed messages in turn until the time is up; throws with the message for which one failed. */
export async function fuzz(decoders: readonly Decoder[], random: Random, ms: number): Promise<readonly FuzzCount[]> {
  const counts = decoders.map(({ name }) => ({ name, taken: 0, refused: 0 }));
  for (const end = performance.now() + ms; performance.now() < end; ) {
    for (const [index, decoder] of decoders.entries()) {
      const isTaken = await feed(decoder, mutate(random.pick(decoder.samples), random));
      (counts[index] as FuzzCount)[isTaken ? "taken" : "refused"]++;
    }
  }
  return counts;
}

async function feed({ name, decode }: Decoder, bytes: Buffer): Promise<boolean> {
  try {
    await decode(bytes);
    return true;
  } catch (reason) {
    if (reason instanceof ServingError && reason.code !== "internal") return false;
    throw new Error(`${name} failed for the base64 ${bytes.toString("base64")}`, { cause: reason });
  }
}
