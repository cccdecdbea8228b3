import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  textField,
} from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
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

test("a SavedModel's graph has the functions that it calls written out, with its variables' bytes", async () => {
  const { nodes, omitted } = await readGraph("test/fixtures/tensorflow/keras_dense");
  expect(omitted).toBe(0);
  expect(nodes.map(({ type, bytes }) => [type, bytes])).toEqual([
    ["Input", 0],
    ["MatMul", 512],
    ["BiasAdd", 64],
    ["Relu", 0],
    ["MatMul", 256],
    ["BiasAdd", 16],
    ["Softmax", 0],
    ["Output", 0],
  ]);
  expect(nodes.map(({ from }) => from)).toEqual([[], [0], [1], [2], [3], [4], [5], [6]]);
  const [input, product] = nodes;
  expect([input?.gives, product?.gives]).toEqual(["float32 [any, 8]", "float32 [any, 16]"]);
});

test("a loop of TensorFlow 1 is drawn with the operations that it consists of", async () => {
  const node = (name: string, op: string, ...inputs: readonly string[]) =>
    messageField(1, [textField(1, name), textField(2, op), ...inputs.map((input) => textField(3, input))]);
  const end = (field: number, name: string, tensor: string) =>
    messageField(field, [textField(1, name), messageField(2, [textField(1, tensor), integerField(2, 1)])]);
  const loop = [node("merge", "Merge", "x", "next"), node("sum", "AddV2", "merge", "x"), node("next", "Next", "sum")];
  const signature = [textField(1, "serving_default"), messageField(2, [end(1, "x", "x:0"), end(2, "y", "sum:0")])];
  const meta = [messageField(2, [node("x", "Placeholder"), ...loop]), messageField(5, signature)];
  const folder = tempFolder({ "saved_model.pb": encodeMessage([integerField(1, 1), messageField(2, meta)]) });
  const { nodes } = await readGraph(folder);
  expect(nodes.map(({ type, from }) => [type, from])).toEqual([
    ["Input", []],
    ["Merge", [0, 3]],
    ["AddV2", [1, 0]],
    ["Next", [2]],
    ["Output", [2]],
  ]);
});

test("a frozen graph is drawn from its placeholders to what nothing takes", async () => {
  const { nodes } = await readGraph("test/fixtures/tensorflow/frozen_graph/frozen.pb");
  expect(nodes.map(({ name, type, from, bytes }) => [name, type, from, bytes])).toEqual([
    ["x", "Input", [], 0],
    ["MatMul", "MatMul", [0], 24],
    ["Relu", "Relu", [1], 0],
    ["ArgMax", "ArgMax", [1], 4],
    ["Identity", "Output", [2], 0],
    ["Identity_1", "Output", [3], 0],
  ]);
});

test("the thread of requests goes on while a file is read", async () => {
  const pipe = `${tempFolder()}/model.tflite`;
  execFileSync("mkfifo", [pipe]);
  // Its writer waits for a word of this thread, but not for ever.
  const script = 'exec 3>"$1"; echo opened; read -rt 10 word; cat "$2" >&3; echo "$word"';
  const writer = spawn("bash", ["-c", script, "bash", pipe, TFLITE], { stdio: ["pipe", "pipe", "inherit"] });
  const told = text(writer.stdout.once("data", () => writer.stdin.end("on\n")));
  const { nodes } = await readGraph(pipe);
  expect(nodes.at(-1)?.type).toBe("Output");
  expect(await told).toBe("opened\non\n");
});

test.each([
  ["another format", "null.bin", "x", "unimplemented"],
  ["a damaged file", "model.onnx", Buffer.from([0x3a, 0xff, 0xff, 0x7f, 1, 2, 3]), "failed_precondition"],
  ["a damaged .tflite file", "model.tflite", "TFL3 and nothing more", "failed_precondition"],
  ["a damaged SavedModel", "saved_model.pb", Buffer.from([8, 1, 18, 0xff, 0xff, 1]), "failed_precondition"],
  ["a damaged frozen graph", "model.pb", Buffer.from([10, 0xff]), "failed_precondition"],
  ["an IR that is too large", "model.xml", " ".repeat(8_000_001), "failed_precondition"],
])("%s is refused without its path", async (_, name, content, code) => {
  const path = `${tempFolder()}/${name}`;
  writeFileSync(path, content);
  const refusal = await readGraph(path).catch((reason) => reason);
  expect(refusal).toMatchObject({ code });
  expect(refusal.message).not.toContain(path);
});

test.each([
  ["sizes that no tensor has", [messageField(5, [bytesField(1, Buffer.alloc(2000, 1))])]],
  [
    "a node of more inputs than any has",
    [
      messageField(
        1,
        Array.from({ length: 100_001 }, () => textElement(1, "")),
      ),
    ],
  ],
])("a file with %s is too large to be drawn", async (_, graph) => {
  const path = `${tempFolder()}/model.onnx`;
  writeFileSync(path, encodeMessage([messageField(7, graph)]));
  await expect(readGraph(path)).rejects.toThrow("The model's file cannot be drawn: it is too large.");
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
