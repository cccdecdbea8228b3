import type { Random } from "../grpc/random.ts";

/** An input of which a part is repeated, and what it costs, the last of lengths that double. */
export interface Growth {
  readonly input: Buffer;
  readonly costs: readonly number[];
}

/** Bytes to which an input is stretched: first those, then less and less, and last more. */
const [FIRST, OTHERS] = [131_072, [65_536, 32_768, 262_144]];
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
    const costs = new Map<number, number>();
    for (const length of [FIRST, ...OTHERS]) {
      costs.set(length, await cost(stretch(input, from, to, length)));
      if ((costs.get(FIRST) as number) < LEAST_COST || !growsFast(costs)) break;
    }
    const longest = Math.max(...costs.keys());
    if (costs.size > OTHERS.length && growsFast(costs))
      return { input: stretch(input, from, to, longest), costs: [...costs.values()].sort((one, other) => one - other) };
  }
  return undefined;
}

/** False where twice a length costs little more, of those that have been measured. */
function growsFast(costs: ReadonlyMap<number, number>): boolean {
  return [...costs].every(([length, cost]) => (costs.get(2 * length) ?? Number.POSITIVE_INFINITY) > MAX_RATIO * cost);
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
