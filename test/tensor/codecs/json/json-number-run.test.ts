import { describe, expect, it, test } from "vitest";
import { JsonCursor } from "../../../../src/tensor/codecs/json/json-cursor.ts";
import { readNumber } from "../../../../src/tensor/codecs/json/json-number.ts";
import { readNumberRun } from "../../../../src/tensor/codecs/json/json-number-run.ts";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";
import { JsonNumbers, type JsonObject, NumberStore } from "../../../../src/tensor/codecs/json/json-value.ts";
import { Random } from "../../../grpc/random.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";
import { randomNumber } from "../../../proxy/random-json.ts";
import { toPlain } from "../../../proxy/to-plain.ts";

function storeAfter(text: string, read: typeof readNumberRun) {
  const cursor = new JsonCursor(Buffer.from(text));
  const store = new NumberStore(64, ampleBudget());
  read(cursor, store);
  const { length, values, fractions, exact } = store;
  const numbers = { values: [...values.slice(0, length)], fractions: [...fractions.slice(0, length)] };
  return { end: cursor.pos, ...numbers, exact: [...(exact ?? [])] };
}

/** One number after the other, each as if it stood alone. */
const readEach: typeof readNumberRun = (cursor, store) => {
  for (;;) {
    readNumber(cursor, store);
    const more = /^\s*,\s*(?=[-\d])/.exec(cursor.bytes.toString("latin1", cursor.pos, cursor.end));
    if (more === null) return cursor.skipSpace();
    cursor.pos += more[0].length;
  }
};

const randomInteger = (random: Random) => String(random.below(10 ** (1 + random.below(9))));

test("a run of integers and others, however they are separated, is what each of them is", () => {
  const random = new Random(5);
  for (let round = 0; round < 2000; round++) {
    const texts = Array.from({ length: 1 + random.below(60) }, () =>
      random.below(8) > 0 ? randomInteger(random) : randomNumber(random),
    );
    const text = texts.reduce((all, each) => `${all}${random.pick([",", ",", ", ", " ,\n"])}${each}`);
    const ended = text + random.pick(["]", "],[1", " ]", ",null]", ",]", "}"]);
    expect(storeAfter(ended, readNumberRun)).toEqual(storeAfter(ended, readEach));
  }
});

test.each([
  ["1,2.,3]", "Miss fraction part in number. at offset: 4"],
  ["10,2e]", "Miss exponent in number. at offset: 5"],
  ["7, -]", "Invalid value. at offset: 4"],
  [`1,${"9".repeat(400)}]`, "Number too big to be stored in double. at offset: 2"],
])("a run with a number that is none is refused where that stands: %.20j", (text, message) => {
  expect(() => storeAfter(text, readNumberRun)).toThrow(message);
});

test.each(["7", "1,23", "1, 23", "1.5,2", "12,", "12, ", "1, 2, ", "1 , "])(
  "a run that the text ends with, %j, ends there too",
  (text) => {
    expect(storeAfter(text, readNumberRun)).toEqual(storeAfter(text, readEach));
  },
);

test.each([
  ["1,02]", [1, 0], 3],
  ["007,5]", [0], 1],
])("a run ends behind a zero that more digits follow: %j", (text, values, end) => {
  expect(storeAfter(text, readNumberRun)).toMatchObject({ values, end });
});

const parse = (text: string) => parseJson(Buffer.from(text), ampleBudget());

const OTHERS = ["-1", "1.5", "0.0", "1e2", "1234567890123", "null", "[1]"];

/** Rows of integers, most of them of one length, with other values and white space among them now and then. */
function randomRows(random: Random): string {
  const width = 1 + random.below(4);
  const separator = () => random.pick([",", ",", ",", ", ", " ,\n"]);
  const element = () => (random.below(60) > 0 ? String(random.below(10 ** random.below(10))) : random.pick(OTHERS));
  const list = (length: number, item: () => string) =>
    Array.from({ length }, item)
      .reduce((all, each) => `${all}${separator()}${each}`, "")
      .replace(/^[\s,]+/, "");
  const row = () => `[${list(random.below(40) > 0 ? width : random.below(6), element)}]`;
  return `{"x": [${list(1 + random.below(30), row)}]}`;
}

describe("rows of integers", () => {
  it("are what JSON.parse makes of them, also where others are among them", () => {
    const random = new Random(16);
    for (let round = 0; round < 1000; round++) {
      const text = randomRows(random);
      expect(toPlain(parse(text)), text).toEqual(JSON.parse(text));
    }
  });

  it("make one block, whose numbers know which of them are integers", () => {
    const { x } = parse('{"x": [[[1, 2], [3, 4], [5, 6.0]], [[7,8],[9,10],[11,12]]]}') as JsonObject;
    expect(x).toBeInstanceOf(JsonNumbers);
    const { shape, size } = x as JsonNumbers;
    expect(shape).toEqual([2, 3, 2]);
    const integers = Array.from({ length: size }, (_, index) => (x as JsonNumbers).isInteger(index));
    expect(integers.flatMap((isInteger, index) => (isInteger ? [] : [index]))).toEqual([5]);
  });

  it("may be more than there was room for", () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => [index % 10, index, 7]);
    const text = JSON.stringify(rows);
    expect(JSON.stringify(toPlain(parse(text))) === text).toBe(true);
  });

  it.each(['{"x": [[1, 2], [3, 4], [5, 6]]}', '{"x":[[10,20],[30,40]],"y":[[0],[1],[2]]}'])(
    "that the text ends within are refused, wherever: %s",
    (text) => {
      for (let end = 1; end < text.length; end++) {
        for (const more of ["", " ", "]", "-", "x"])
          expect(() => parse(text.slice(0, end) + more), text.slice(0, end) + more).toThrow(/^JSON Parse error: /);
      }
    },
  );
});
