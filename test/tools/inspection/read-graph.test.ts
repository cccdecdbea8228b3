import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readGraph } from "../../../src/tools/inspection/read-graph.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const MODELS = "test/fixtures/models";
const TFLITE = "test/fixtures/tensorflow-formats/lite_one_row/model.tflite";

test("an ONNX file's graph has its operators with the bytes of their constants", async () => {
  const { nodes, omitted } = await readGraph(`${MODELS}/half-plus-two.onnx`);
  expect(omitted).toBe(0);
  expect(nodes.map(({ type, from }) => [type, from])).toEqual([
    ["Input", []],
    ["Mul", [0]],
    ["Add", [1]],
    ["Output", [2]],
  ]);
  expect(nodes.map(({ bytes }) => bytes)).toEqual([0, 4, 4, 0]);
  expect(nodes[0]).toMatchObject({ name: "x", gives: expect.stringMatching(/^float32 \[/) });
});

test("an IR's graph has its layers, without those within loops and branches", async () => {
  const { nodes } = await readGraph("test/fixtures/openvino/strings/model.xml");
  expect(nodes.map(({ name, type, gives }) => [name.replace(/_\d+$/, ""), type, gives])).toEqual([
    ["text", "Input", "string [any]"],
    ["StringTensorUnpack", "StringTensorUnpack", "i32 [any]"],
    ["StringTensorPack", "StringTensorPack", "string [any]"],
    ["Result", "Output", "string [any]"],
    ["Result", "Output", "i32 [any]"],
  ]);
  expect(nodes.map(({ from }) => from)).toEqual([[], [0], [1], [2], [1]]);
  const { nodes: ofLoop } = await readGraph("test/fixtures/openvino/loop/model.xml");
  expect(ofLoop.filter(({ type }) => type === "Loop" || type === "TensorIterator")).toHaveLength(1);
  const { nodes: dense } = await readGraph("test/fixtures/openvino/dense/model.xml");
  expect(dense.some(({ bytes }) => bytes > 0)).toBe(true);
});

test("a .tflite file's graph has its operators with the bytes of their constants", async () => {
  const { nodes } = await readGraph(TFLITE);
  expect(nodes.at(0)).toMatchObject({ type: "Input", gives: expect.stringMatching(/^float32 \[/) });
  expect(nodes.at(-1)?.type).toBe("Output");
  const inner = nodes.filter(({ type }) => /^[A-Z0-9_]+$/.test(type));
  expect(inner.every(({ from }) => from.length > 0)).toBe(true);
  expect(inner.some(({ bytes }) => bytes > 0)).toBe(true);
});

test.each([
  ["another format", "null.bin", "x", "unimplemented"],
  ["a damaged file", "model.onnx", Buffer.from([0x3a, 0xff, 0xff, 0x7f, 1, 2, 3]), "failed_precondition"],
  ["a damaged .tflite file", "model.tflite", "TFL3 and nothing more", "failed_precondition"],
  ["an IR that is too large", "model.xml", " ".repeat(8_000_001), "failed_precondition"],
])("%s is refused without its path", async (_, name, content, code) => {
  const path = `${tempFolder()}/${name}`;
  writeFileSync(path, content);
  const refusal = await readGraph(path).catch((reason) => reason);
  expect(refusal).toMatchObject({ code });
  expect(refusal.message).not.toContain(path);
});

test("a file that is not there is refused without its path", async () => {
  const refusal = await readGraph("/no/such/model.onnx").catch((reason) => reason);
  expect([refusal.code, refusal.message.includes("/no/such")]).toEqual(["failed_precondition", false]);
});

test("what a branch or a loop has within it draws neither nodes nor edges, and the branch has its own type", async () => {
  const { nodes: ofBranch } = await readGraph("test/fixtures/openvino/branches/model.xml");
  expect(ofBranch.map(({ type }) => type)).toEqual(expect.arrayContaining(["Input", "If", "Output"]));
  expect(ofBranch.filter(({ type }) => type === "If")).toHaveLength(1);
  const inputs = ofBranch.filter(({ type }) => type === "Input").map(({ name }) => name);
  expect(inputs).toEqual(expect.arrayContaining(["x", "wide"]));
  const { nodes: ofLoop } = await readGraph("test/fixtures/openvino/loop/model.xml");
  const loop = ofLoop.find(({ type }) => type === "Loop");
  expect(loop?.gives).toBe("fp32 [any]");
  expect(loop?.from.map((index) => ofLoop[index]?.type)).toEqual(["Input", "Input"]);
});
