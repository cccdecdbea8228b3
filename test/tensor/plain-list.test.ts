import { expect, test } from "vitest";
import { isPlainList, markPlainLists } from "../../src/tensor/plain-list.ts";
import { looksLikeTensor } from "../../src/tensor/tensor.ts";

const EMPTY_TENSOR = '{"dtype":"bytes","shape":[0],"data":[]}';

test("what looks like a tensor at any depth of parsed JSON is none, and other lists stay as they are", () => {
  const json = JSON.parse(`{"a": ${EMPTY_TENSOR}, "b": [[${EMPTY_TENSOR}]], "data": [], "c": [[], {"data": []}]}`);
  markPlainLists(json);
  expect([json.a, json.b[0][0]].map(looksLikeTensor)).toEqual([false, false]);
  expect([json.data, json.c[0], json.c[1].data, json.a.shape].map(isPlainList)).toEqual([false, false, false, false]);
  expect(looksLikeTensor(JSON.parse(EMPTY_TENSOR))).toBe(true);
  expect(JSON.stringify(json.a)).toBe(EMPTY_TENSOR);
});
