/**
 * Reads texts of others by every way that they enter, at half the longest length and at the longest, and prints its
 * time, less that without a core. Fails where twice the text takes more than 2.2 times the time, or the main thread is
 * held for over 50 ms, another for over two seconds. Arguments are the beginnings of the names of entries; without them
 * all are measured.
 *
 * Where `JSON.parse` alone takes more than twice the time for twice the text, measured in turn with ours, we may by as
 * much: 260 000 lists fit into V8's young generation, twice as many are copied out of it.
 */
import type { TextCost } from "../test/platform/limits/hostile-texts.ts";
import { leastMs, TEXT_COSTS } from "../test/platform/limits/text-costs.ts";

/** Most of the ratio; below the shortest time the clock and the collector decide it. */
const [MOST_RATIO, SHORTEST_MS] = [2.2, 2];
/** Most of the main thread's time, and of another's. */
const MOST_MS = { main: 50, other: 2000 };
/** Times that each text is read, and measurements of one that is over a limit. */
const [READS, AGAIN] = [5, 4];

interface Measured {
  readonly ms: number;
  readonly ratio: number | undefined;
  /** Of `JSON.parse` on the same texts. */
  readonly parseRatio: number;
}

const starts = process.argv.slice(2);
const chosen = TEXT_COSTS.filter(({ name }) => starts.length === 0 || starts.some((start) => name.startsWith(start)));
if (chosen.length === 0) throw new Error(`No entry begins with ${starts.join(", ")}.`);
let failures = 0;
const HEAD = ["ms".padStart(8), "ratio".padStart(6), "parse".padStart(6)];
console.log("entry".padEnd(28), "text".padEnd(22), "length".padStart(10), ...HEAD);
for (const cost of chosen)
  for (const kind of Object.keys(cost.texts)) {
    const measure = measurerOf(cost, kind);
    let measured = await measure();
    for (let again = 0; again < AGAIN && !holds(cost, measured); again++) measured = await measure();
    const isGood = holds(cost, measured);
    if (!isGood) failures++;
    const { ms, ratio, parseRatio } = measured;
    const ratios = [ratio, parseRatio > 2 ? parseRatio : undefined].map((one) => (one?.toFixed(2) ?? "-").padStart(6));
    const cells = [ms.toFixed(2).padStart(8), ...ratios, isGood ? "" : "FAILS"];
    console.log(cost.name.padEnd(28), kind.padEnd(22), String(cost.most).padStart(10), ...cells);
  }
console.log(failures === 0 ? "All costs are in proportion." : `${failures} costs are not.`);
process.exitCode = failures === 0 ? 0 : 1;

/** Takes the least times of a text and its half, by us and by `JSON.parse`; each call reads them some times more. */
function measurerOf(cost: TextCost, kind: string): () => Promise<Measured> {
  const texts = [cost.most / 2, cost.most].map(cost.texts[kind]!);
  const ways = [cost, { ...cost, read: parse }];
  const reads = ways.flatMap((way) => texts.map((text) => ({ way, text, leastMs: Number.POSITIVE_INFINITY })));
  return async () => {
    for (let tries = 0; tries < READS; tries++)
      for (const read of reads) read.leastMs = Math.min(read.leastMs, await leastMs(read.way, read.text, () => true));
    const [halfMs = 0, ms = 0, halfParseMs = 0, parseMs = 0] = reads.map((read) => read.leastMs);
    return { ms, ratio: ratioOf(halfMs, ms), parseRatio: ratioOf(halfParseMs, parseMs) ?? 0 };
  };
}

/** Reads a text of JSON by V8 alone; some have one NaN. */
function parse(text: string): unknown {
  return JSON.parse(text.replace("NaN", "0"));
}

function ratioOf(halfMs: number, ms: number): number | undefined {
  return ms < SHORTEST_MS ? undefined : ms / halfMs;
}

/** The ratio beside the one that is to be expected: 1 = as much. */
function excessOf({ ratio = 0, parseRatio }: Measured): number {
  return ratio / Math.max(2, parseRatio);
}

function holds({ isInMainThread = true }: TextCost, measured: Measured): boolean {
  return excessOf(measured) <= MOST_RATIO / 2 && measured.ms <= (isInMainThread ? MOST_MS.main : MOST_MS.other);
}
