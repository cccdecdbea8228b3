import { expect, test } from "vitest";
import { isPlainList, markPlainLists } from "../../src/tensor/plain-list.ts";

test("empty lists at any depth of parsed JSON are remembered, and no others", () => {
  const json = { a: [], b: [[[]], { c: [] }], d: [1], e: "text", f: null };
  markPlainLists(json);
  const [[deep], { c }] = json.b as unknown as [[unknown[]], { c: unknown[] }];
  expect([json.a, deep, c].map((list) => isPlainList(list as unknown[]))).toEqual([true, true, true]);
  expect([json.b, json.d, []].map(isPlainList)).toEqual([false, false, false]);
});
