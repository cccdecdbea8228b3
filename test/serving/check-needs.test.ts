import { expect, test } from "vitest";
import { problemsOfNeeds, withNeeds } from "../../src/serving/check-needs.ts";

const models = (given: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(given).map(([name, needs]) => ({ name, needs }));

test("models may need the same ones, directly and not", () => {
  expect(problemsOfNeeds(models({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] })).size).toBe(0);
});

test("the shortest circle is named, and only those that are in one are refused", () => {
  const problems = problemsOfNeeds(models({ a: ["b"], b: ["c", "d"], c: ["b"], d: ["c"], self: ["self"] }));
  expect([...problems]).toEqual([
    ["b", "The stages of b need one another in a circle: b → c → b; leave one of them out."],
    ["c", "The stages of c need one another in a circle: c → b → c; leave one of them out."],
    ["d", "The stages of d need one another in a circle: d → c → b → d; leave one of them out."],
    ["self", "The stages of self need one another in a circle: self → self; leave one of them out."],
  ]);
});

test("an unknown model is named with the nearest one", () => {
  expect(problemsOfNeeds(models({ chain: ["detectr"], detector: [] })).get("chain")).toBe(
    'A stage of chain is the model "detectr", which is not described. Did you mean "detector"? This server has detector.',
  );
});

test("names come with all that they need", () => {
  expect([...withNeeds(["a"], models({ a: ["b"], b: ["c"], c: ["a"], d: [] }))]).toEqual(["a", "b", "c"]);
});
