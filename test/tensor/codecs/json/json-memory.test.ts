import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { DecodeBudget } from "../../../../src/platform/limits/memory/decode-budget.ts";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
setFlagsFromString("--no-expose-gc");

const COUNT = 20_000;
const AMPLE = 2 ** 40;
/** Memory that the test's thread may have used meanwhile, as a share. */
const NOISE = 1.1;
/** Measurements, of which one has to pass: vitest may use memory during any of them. */
const MEASUREMENTS = 3;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Bytes that the budget counts for a document. */
function countedFor(text: Buffer): number {
  const budget = new DecodeBudget(AMPLE);
  parseJson(text, budget);
  return AMPLE - budget.leftBytes;
}

/** Bytes of the heap that a document takes, measured until they are few enough. */
function leastTakenBy(text: Buffer, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MEASUREMENTS && least > enough; round++) least = Math.min(least, takenBy(text));
  return least;
}

function takenBy(text: Buffer): number {
  const before = heapBytes();
  const value = parseJson(text, new DecodeBudget(AMPLE));
  const after = heapBytes();
  expect(value).toHaveLength(COUNT);
  return after - before;
}

test.each([
  ["empty objects", () => "{}"],
  ["objects of one number", () => '{"x":1}'],
  ["objects of five members", () => '{"a":true,"b":true,"c":true,"d":true,"e":true}'],
  ["objects with names of their own", (index: number) => `{"name${index}":true}`],
  ["objects in objects", () => '{"a":{"a":{}}}'],
  ["objects with a number for a name", () => '{"999":true}'],
  ["objects with two numbers for names", () => '{"1":true,"1020":true}'],
  ["lists", () => "[true]"],
  ["lists in lists", () => "[[[[[true]]]]]"],
  ["lists of other lengths", (index: number) => (index % 2 === 0 ? "[1]" : "[1,2]")],
  ["lists that are irregular within", () => "[[1,2],3]"],
  ["texts", (index: number) => `"text ${index}"`],
])("%s take no more of the heap than is counted", (_, unit) => {
  const text = Buffer.from(`[${Array.from({ length: COUNT }, (_, index) => unit(index)).join(",")}]`);
  const most = NOISE * countedFor(text);
  expect(leastTakenBy(text, most)).toBeLessThanOrEqual(most);
});

test("names that are numbers are members like others", () => {
  const value = parseJson(Buffer.from('{"7":null,"a":true,"0":false,"7":"b"}'), new DecodeBudget(AMPLE));
  expect(JSON.stringify(value)).toBe('{"0":false,"7":"b","a":true}');
});
