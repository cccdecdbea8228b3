import type { Random } from "../grpc/random.ts";

/** An input of which a part is repeated, and what it costs at half its length and at a quarter of it before. */
export interface Growth {
  readonly input: Buffer;
  readonly costs: readonly number[];
}

/** Bytes to which an input is stretched. */
const LENGTHS = [16_384, 32_768, 65_536, 131_072];
/** Costs of less show nothing but noise. */
const LEAST_COST = 20;
/** Twice the length may cost so much more: between what lines and what squares cost. */
const MAX_RATIO = 3;
const TIMES = 3;
const PARTS = 4;

/**
 * Stretches an input by repeating it, or parts of it, and gives the longest one whose cost grows faster than its length
 * at each step; undefined if there is none.
 */
export async function growthOf(
  input: Buffer,
  random: Random,
  cost: (input: Buffer) => Promise<number>,
): Promise<Growth | undefined> {
  for (const [from, to] of partsOf(input, random)) {
    const stretched = LENGTHS.map((length) => stretch(input, from, to, length));
    const last = stretched.at(-1) as Buffer;
    const most = await cost(last);
    if (most < LEAST_COST) continue;
    const costs: number[] = [];
    for (const one of stretched.slice(0, -1)) costs.push(await cost(one));
    costs.push(most);
    if (costs.slice(-2).every((one, index) => one > MAX_RATIO * (costs.at(index - 3) as number)))
      return { input: last, costs };
  }
  return undefined;
}

function partsOf({ length }: Buffer, random: Random): (readonly [from: number, to: number])[] {
  if (length === 0) return [];
  const parts = Array.from({ length: PARTS }, () => {
    const from = random.below(length);
    return [from, Math.min(length, from + 1 + random.below(random.pick([2, 8, 64])))] as const;
  });
  return [[0, length], [Math.floor(length / 4), Math.ceil((3 * length) / 4)], ...parts];
}

function stretch(input: Buffer, from: number, to: number, length: number): Buffer {
  const part = input.subarray(from, to);
  const times = Math.ceil(length / part.length);
  return Buffer.concat([input.subarray(0, from), ...Array<Buffer>(times).fill(part), input.subarray(to)]);
}

/** Milliseconds of this process's processor time for a run: the least of some. */
export async function costOf(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < TIMES; times++) {
    const began = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
