import { describe, expect, it } from "vitest";
import { parseJson } from "../../../src/codecs/json/json-reader.ts";
import { JsonNumbers, type JsonObject } from "../../../src/codecs/json/json-value.ts";
import { Random } from "../../grpc/random.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";
import { toPlain } from "../../proxy/to-plain.ts";

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
