import { ServingError } from "../../src/errors.ts";
import type { Random } from "../grpc/random.ts";
import type { Decoder } from "./decoder.ts";
import { keptInputs } from "./kept-inputs.ts";
import { mutate } from "./mutate.ts";

/** Results of the messages of one decoder. */
export interface FuzzCount {
  readonly name: string;
  /** Read although they were changed. */
  taken: number;
  refused: number;
}

/**
 * Gives each decoder changed messages in turn until the time is up and each has got so many; throws with the message
 * for which one failed.
 */
export async function fuzz(
  decoders: readonly Decoder[],
  random: Random,
  ms: number,
  least = 0,
): Promise<readonly FuzzCount[]> {
  const counts = decoders.map(({ name }) => ({ name, taken: 0, refused: 0 }));
  const inputs = decoders.map(({ name, samples }) => [...samples, ...keptInputs(name)]);
  const end = performance.now() + ms;
  for (let round = 0; round < least || performance.now() < end; round++) {
    for (const [index, decoder] of decoders.entries()) {
      const isTaken = await feed(decoder, mutate(random.pick(inputs[index] as Buffer[]), random));
      (counts[index] as FuzzCount)[isTaken ? "taken" : "refused"]++;
    }
  }
  return counts;
}

/** Time of one core for a message, with the reader's first one, and for each of its bytes. */
const [MAX_MS, MAX_MS_PER_BYTE] = [250, 0.02];

/** Gives true for a message that was read; throws where that failed, or took too long twice. */
export async function feed(decoder: Decoder, bytes: Buffer): Promise<boolean> {
  const began = process.cpuUsage();
  const isTaken = await read(decoder, bytes);
  if (isTooLong(began, decoder, bytes)) {
    const again = process.cpuUsage();
    await read(decoder, bytes);
    if (isTooLong(again, decoder, bytes))
      throw new Error(`${decoder.name} took too long for the base64 ${bytes.toString("base64")}`);
  }
  return isTaken;
}

function isTooLong(began: NodeJS.CpuUsage, { maxMs = MAX_MS }: Decoder, { length }: Buffer): boolean {
  return process.cpuUsage(began).user / 1000 > maxMs + MAX_MS_PER_BYTE * length;
}

async function read({ name, decode }: Decoder, bytes: Buffer): Promise<boolean> {
  try {
    await decode(bytes);
    return true;
  } catch (reason) {
    if (reason instanceof ServingError && reason.code !== "internal") return false;
    throw new Error(`${name} failed for the base64 ${bytes.toString("base64")}`, { cause: reason });
  }
}
