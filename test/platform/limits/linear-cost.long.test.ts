import { expect, test } from "vitest";
import { leastMs, TEXT_COSTS } from "./text-costs.ts";

/** A kind of text of each of three ways, with the time of `JSON.parse` as what this machine can do. */
const KINDS = { "JSON of a request": "list", "parts of a form": "parts", CSV: "rows" } as const;
/** Eight times the text takes some eight times as long, or 64 times where every character meets all before it. */
const [TIMES, MOST_RATIO] = [8, 24];
const [READS, TRIES] = [3, 5];
const LIST = `[${"1,".repeat(64 * 1024)}1]`;
const parsing = { name: "JSON.parse", most: 0, texts: {}, read: (text: string) => JSON.parse(text) };

/** Times of a text, and of `JSON.parse` beside it: what holds the machine up holds up both. */
async function costOf(cost: (typeof TEXT_COSTS)[number], text: string): Promise<number> {
  const enough = (_: number, tries: number) => tries >= READS;
  return (await leastMs(cost, text, enough)) / (await leastMs(parsing, LIST, enough));
}

test.each(Object.entries(KINDS))("%s: eight times the %s take less than 24 times as long", async (name, kind) => {
  const found = TEXT_COSTS.find((each) => each.name === name);
  const ratio = await ratioOf(found, kind);
  expect(ratio).toBeLessThan(MOST_RATIO);
});

test("a reading in the square of the length takes more than that", async () => {
  const read = (text: string) => {
    let sum = 0;
    for (let from = 0; from < text.length; from += 64) for (let at = 0; at < from; at++) sum += text.charCodeAt(at);
    return sum;
  };
  const square = { name: "square", most: 64 * 1024, texts: { letters: (length: number) => "a".repeat(length) }, read };
  expect(await ratioOf(square, "letters")).toBeGreaterThan(MOST_RATIO);
});

/** The least ratio of some, so that a machine that was busy at the longer text's time counts once. */
async function ratioOf(cost: (typeof TEXT_COSTS)[number] | undefined, kind: string): Promise<number> {
  const make = cost?.texts[kind];
  if (cost === undefined || make === undefined) throw new Error(`There is no cost of ${kind}.`);
  const [short, long] = [make(cost.most / TIMES), make(cost.most)];
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && least >= MOST_RATIO; tries++)
    least = Math.min(least, (await costOf(cost, long)) / (await costOf(cost, short)));
  return least;
}
