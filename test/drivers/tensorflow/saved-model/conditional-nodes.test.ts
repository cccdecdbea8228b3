import { expect, it } from "vitest";
import { findConditionalNodes } from "../../../../src/drivers/tensorflow/saved-model/conditional-nodes.ts";
import type { NodeDef } from "../../../../src/drivers/tensorflow/saved-model/graph-def.ts";

/** Nodes as `name op input...`. */
function conditional(...lines: string[]): string[] {
  const nodes = lines.map((line): NodeDef => {
    const [name = "", op = "", ...input] = line.split(" ");
    return { name, op, input, device: "", attr: {} };
  });
  return [...findConditionalNodes(nodes)].sort();
}

const BRANCHES = [
  "x Placeholder",
  "p Placeholder",
  "s Switch x p",
  "not Neg s",
  "then Identity s:1",
  "m Merge not then",
];

it("names what is in a branch, data or control, and not what comes after both", () => {
  const lines = [...BRANCHES, "pivot Identity s:1", "late Const ^pivot", "y Identity m"];
  expect(conditional(...lines)).toEqual(["late", "not", "pivot", "s", "then"]);
});

it("knows that a branch may be within another", () => {
  const lines = ["q Placeholder", "outer Switch m q", "inner Switch outer:1 p", "a Neg inner", "n Merge a inner:1"];
  expect(conditional(...BRANCHES, ...lines, "z Merge n outer", "y Identity z")).toEqual(
    ["a", "inner", "n", "not", "outer", "s", "then"].sort(),
  );
});

it("names what is in a loop, and not its result", () => {
  const loop = ["x Placeholder", "e Enter x", "m Merge e next", "c LoopCond m", "s Switch m c", "body Neg s:1"];
  expect(conditional(...loop, "next NextIteration body", "out Exit s", "y Identity out")).toEqual(
    ["body", "c", "e", "m", "next", "s"].sort(),
  );
});

it("names what needs a checkpoint", () => {
  const lines = ["file Const", "r RestoreV2 file", "all NoOp ^r", "done Const ^all", "y Identity file"];
  expect(conditional(...lines)).toEqual(["all", "done", "r"]);
});

it("names what needs a variable, which has no value in a graph alone", () => {
  const lines = ["x Placeholder", "v VariableV2", "w Assign v x", "y Mul x v", "z Neg x"];
  expect(conditional(...lines)).toEqual(["v", "w", "y"]);
});

it("names nothing in a graph without branches, and goes through deep ones", () => {
  const deep = Array.from({ length: 20_000 }, (_, index) => `n${index + 1} Neg n${index}`);
  expect(conditional("n0 Placeholder", ...deep)).toEqual([]);
  expect(conditional(...BRANCHES, "n0 Placeholder", ...deep.reverse())).toEqual(["not", "s", "then"]);
});
