/**
 * Reads messages of others by every way that they enter, at lengths that double up to the longest that may come or as
 * far as {@link ENOUGH_MS} allows, and prints the time of the longest, less that without a core. Fails where
 * twice the length takes more than 2.2 times the time, or the main thread is held for over 50 ms, another for over two
 * seconds by what tests read. Arguments are the beginnings of the names of entries; without them all are measured;
 * `--short` goes no further than tests.
 *
 * Where V8 alone takes more than twice the time for twice the text, measured in turn with ours, we may by as much: for
 * `JSON.parse` of it, or a table of its pieces. 260 000 lists fit into V8's young generation, twice as many are copied
 * out of it, and a table of millions fits into no cache.
 */
import type { TextCost } from "../test/platform/limits/hostile-texts.ts";
import { leastMs, TEXT_COSTS } from "../test/platform/limits/text-costs.ts";

/** Most of the ratio; below the shortest time the clock and the collector decide it. */
const [MOST_RATIO, SHORTEST_MS] = [2.2, 4];
/** Most of the main thread's time, and of another's. */
const MOST_MS = { main: 50, other: 2000 };
/** A reading, and all of a text's measurements, after which lengths are doubled no further. */
const [LONG_MS, ENOUGH_MS] = [250, 3000];
/** Doublings of each text at least, times that each is read, and measurements of a doubling that is over a limit. */
const [DOUBLINGS, READS, AGAIN] = [5, 3, 6];
/** Characters of a piece in V8's table, and of the longest text that fits into its memory so. */
const [PIECE, MOST_BARE] = [8, 16 * 2 ** 20];

/** A length with the least times of reading it, by us and by V8. */
interface Point {
  readonly length: number;
  readonly text: string;
  ms: number;
  bareMs: number;
}

interface Measured {
  /** The longest. */
  readonly point: Point;
  /** Of the doubling that is furthest beyond its limit; undefined if all are too short. */
  readonly ratio: number | undefined;
  readonly at: number;
  readonly bareRatio: number | undefined;
  readonly isGood: boolean;
}

const isShort = process.argv.includes("--short");
const starts = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const chosen = TEXT_COSTS.filter(({ name }) => starts.length === 0 || starts.some((start) => name.startsWith(start)));
if (chosen.length === 0) throw new Error(`No entry begins with ${starts.join(", ")}.`);
let failures = 0;
printRow("entry", "text", ["length", "ms", "ratio", "at", "V8"]);
for (const cost of chosen)
  for (const kind of Object.keys(cost.texts)) {
    const { point, ratio, at, bareRatio, isGood } = await measure(cost, cost.texts[kind]!);
    if (!isGood) failures++;
    const ratios = [ratio?.toFixed(2) ?? "-", ratio === undefined ? "-" : String(at), bareRatio?.toFixed(2) ?? "-"];
    printRow(cost.name, kind, [String(point.length), point.ms.toFixed(2), ...ratios], isGood ? "" : "FAILS");
  }
console.log(failures === 0 ? "All costs are in proportion." : `${failures} costs are not.`);
process.exitCode = failures === 0 ? 0 : 1;

function printRow(entry: string, kind: string, numbers: readonly string[], verdict = ""): void {
  console.log(entry.padEnd(28), kind.padEnd(22), ...numbers.map((number) => number.padStart(9)), verdict);
}

/** Doubles a text, and measures again what seems to be over a limit. */
async function measure(cost: TextCost, make: (length: number) => string): Promise<Measured> {
  const most = isShort ? cost.most : (cost.largest ?? cost.most);
  const first = Math.min(cost.most, most) / 2 ** DOUBLINGS;
  const began = performance.now();
  let worst: Measured | undefined;
  let before: Point | undefined;
  for (let length = first; length <= most; length *= 2) {
    const point = { length, text: make(length), ms: Number.POSITIVE_INFINITY, bareMs: Number.POSITIVE_INFINITY };
    const measured = await judge(cost, point, before);
    worst = worst === undefined ? measured : { ...worseOf(worst, measured), point };
    if (length >= cost.most && (point.ms > LONG_MS || performance.now() - began > ENOUGH_MS)) break;
    before = point;
  }
  return worst as Measured;
}

function worseOf(one: Measured, other: Measured): Measured {
  if (one.isGood !== other.isGood) return one.isGood ? other : one;
  return (other.ratio ?? 0) > (one.ratio ?? 0) ? other : one;
}

async function judge(cost: TextCost, point: Point, before: Point | undefined): Promise<Measured> {
  for (let read = 0; read === 0 || (read < READS && point.ms <= LONG_MS); read++) await readBy(cost, point);
  for (let again = 0; ; again++) {
    const ratio = before === undefined || point.ms < SHORTEST_MS ? undefined : point.ms / before.ms;
    const isOver = ratio !== undefined && ratio > MOST_RATIO;
    const bareRatio =
      isOver && before !== undefined && Number.isFinite(point.bareMs) ? point.bareMs / before.bareMs : undefined;
    const isAsBare = bareRatio !== undefined && (ratio ?? 0) <= (MOST_RATIO / 2) * Math.max(2, bareRatio);
    const isGood = (!isOver || isAsBare) && point.ms <= mostMs(cost, point.length);
    if (isGood || again === AGAIN) return { point, ratio, at: point.length, bareRatio, isGood };
    for (const each of [before, point]) if (each !== undefined) await readAgain(cost, each);
  }
}

function mostMs({ isInMainThread = true, most }: TextCost, length: number): number {
  if (isInMainThread) return MOST_MS.main;
  return length <= most ? MOST_MS.other : Number.POSITIVE_INFINITY;
}

async function readAgain(cost: TextCost, point: Point): Promise<void> {
  await readBy(cost, point);
  if (point.length <= MOST_BARE)
    point.bareMs = Math.min(point.bareMs, await leastMs({ ...cost, read: readBare }, point.text, () => true));
}

async function readBy(cost: TextCost, point: Point): Promise<void> {
  point.ms = Math.min(point.ms, await leastMs(cost, point.text, () => true));
}

/** Reads a text by V8 alone; some have one NaN. */
function readBare(text: string): unknown {
  try {
    return JSON.parse(text.replace("NaN", "0"));
  } catch {
    const table = new Map<string, object>();
    for (let at = 0; at < text.length; at += PIECE) table.set(`${text.slice(at, at + PIECE)}${at}`, { at });
    return table;
  }
}
