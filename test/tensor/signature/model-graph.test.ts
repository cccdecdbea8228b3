import { expect, test } from "vitest";
import { GraphBuilder } from "../../../src/tensor/signature/model-graph.ts";

test("a graph has its inputs first and its outputs last, whatever the order in which a file has them", () => {
  const graph = new GraphBuilder();
  graph.addOutput("y");
  graph.addConstant("w", 12);
  graph.add({ name: "second", type: "Add", takes: ["h", "w", "w"], gives: ["y"] });
  graph.add({ name: "first", type: "Mul", takes: ["x", "x", "w"], gives: ["h"] });
  graph.addInput("w");
  graph.addInput("x");
  graph.describe("x", "float32", [1, undefined]);
  graph.describe("y", "float32", undefined);
  expect(graph.build()).toEqual({
    omitted: 0,
    nodes: [
      { name: "x", type: "Input", from: [], gives: "float32 [1, any]", bytes: 0 },
      { name: "second", type: "Add", from: [2], gives: "float32", bytes: 24 },
      { name: "first", type: "Mul", from: [0], gives: "", bytes: 12 },
      { name: "y", type: "Output", from: [1], gives: "float32", bytes: 0 },
    ],
  });
});

test("a large graph is cut in its nodes, in what each takes, and in its names", () => {
  const graph = new GraphBuilder();
  const count = 20_000;
  for (let index = 0; index < count; index++) {
    graph.addInput(`x${index}`);
    graph.addOutput(`y${index}`);
    const takes = Array.from({ length: 100 }, (_, other) => `n${other}`);
    graph.add({ name: "n".repeat(10_000), type: "Concat", takes, gives: [`n${index}`] });
  }
  const { nodes, omitted } = graph.build();
  expect([nodes.length, nodes.length + omitted]).toEqual([300, 3 * count]);
  expect(nodes.filter(({ type }) => type === "Output").length).toBe(75);
  expect(JSON.stringify(nodes).length).toBeLessThan(100_000);
});

test("weights that an old file lists among its inputs take no room of the real ones", () => {
  const graph = new GraphBuilder();
  for (let index = 0; index < 500; index++) {
    graph.addInput(`w${index}`);
    graph.addConstant(`w${index}`, 4);
  }
  graph.addInput("x");
  graph.add({ name: "all", type: "Sum", takes: ["x", "w0"], gives: ["y"] });
  graph.addOutput("y");
  const { nodes, omitted } = graph.build();
  expect([nodes.map(({ name }) => name), omitted]).toEqual([["x", "all", "y"], 0]);
});
