/**
 * Reads texts of others by every way that they enter, at half the longest length and at the longest, and prints what
 * that costs. Fails where twice the text takes more than 2.2 times the time, or the main thread is held for over 50 ms,
 * another for over two seconds. Arguments are the beginnings of the names of entries; without them all are measured.
 */
import type { TextCost } from "../test/platform/limits/hostile-texts.ts";
import { leastMs, TEXT_COSTS } from "../test/platform/limits/text-costs.ts";

/** Most of the ratio; below the shortest time the clock decides it. */
const [MOST_RATIO, SHORTEST_MS] = [2.2, 1];
/** Most of the main thread's time, and of another's. */
const MOST_MS = { main: 50, other: 2000 };
/** Times that each text is read, and measurements of one that is over a limit. */
const [READS, AGAIN] = [5, 4];

interface Measured {
  readonly ms: number;
  readonly ratio: number | undefined;
}

const starts = process.argv.slice(2);
const chosen = TEXT_COSTS.filter(({ name }) => starts.length === 0 || starts.some((start) => name.startsWith(start)));
if (chosen.length === 0) throw new Error(`No entry begins with ${starts.join(", ")}.`);
let failures = 0;
console.log("entry".padEnd(28), "text".padEnd(14), "length".padStart(10), "ms".padStart(8), "ratio".padStart(6));
for (const cost of chosen)
  for (const kind of Object.keys(cost.texts)) {
    let measured = await measure(cost, kind);
    for (let again = 0; again < AGAIN && !holds(cost, measured); again++)
      measured = better(measured, await measure(cost, kind));
    const isGood = holds(cost, measured);
    if (!isGood) failures++;
    const { ms, ratio } = measured;
    const cells = [ms.toFixed(2).padStart(8), (ratio?.toFixed(2) ?? "-").padStart(6), isGood ? "" : "FAILS"];
    console.log(cost.name.padEnd(28), kind.padEnd(14), String(cost.most).padStart(10), ...cells);
  }
console.log(failures === 0 ? "All costs are in proportion." : `${failures} costs are not.`);
process.exitCode = failures === 0 ? 0 : 1;

async function measure(cost: TextCost, kind: string): Promise<Measured> {
  const make = cost.texts[kind]!;
  const [half, whole] = [make(cost.most / 2), make(cost.most)];
  const often = (_: number, tries: number) => tries >= READS;
  const [halfMs, ms] = [await leastMs(cost, half, often), await leastMs(cost, whole, often)];
  return { ms, ratio: ms < SHORTEST_MS ? undefined : ms / halfMs };
}

function better(one: Measured, other: Measured): Measured {
  return (one.ratio ?? 0) <= (other.ratio ?? 0) ? one : other;
}

function holds({ isInMainThread = true }: TextCost, { ms, ratio = 0 }: Measured): boolean {
  return ratio <= MOST_RATIO && ms <= (isInMainThread ? MOST_MS.main : MOST_MS.other);
}
