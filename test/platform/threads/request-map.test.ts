import { expect, it } from "vitest";
import { RequestMap } from "../../../src/platform/threads/request-map.ts";

it("holds a value for each request until that is deleted", () => {
  const map = new RequestMap<string>();
  map.set(1, "one");
  map.set(2, "two");
  expect([map.get(1), map.get(2), map.get(3), map.size]).toEqual(["one", "two", undefined, 2]);
  expect([map.delete(1), map.delete(1), map.get(1), map.size]).toEqual([true, false, undefined, 1]);
});

it("keeps requests apart that would have the same place, however long one takes", () => {
  const map = new RequestMap<string>();
  map.set(5, "slow");
  for (let id = 6; id < 2000; id++) {
    map.set(id, `${id}`);
    expect([map.get(5), map.get(id), map.size]).toEqual(["slow", `${id}`, 2]);
    map.delete(id);
  }
  expect([map.delete(5 + 256), map.delete(5), map.size]).toEqual([false, true, 0]);
});

it("gives all of them out once", () => {
  const map = new RequestMap<string>();
  for (const id of [1, 257, 2]) map.set(id, `${id}`);
  const taken: string[] = [];
  map.takeAll((value, id) => taken.push(`${id}: ${value}`));
  expect(taken.sort()).toEqual(["1: 1", "257: 257", "2: 2"]);
  expect([map.size, map.get(257)]).toEqual([0, undefined]);
});
