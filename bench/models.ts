import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encodeModel, type Initializer, type OnnxGraph, type OnnxNode } from "../test/fixtures/make/onnx-writer.ts";

const FOLDER = fileURLToPath(new URL("../.cache/bench/", import.meta.url));

/** Layers of the conv net: channels out, and the stride. */
const CONV_LAYERS = [
  [32, 2],
  [64, 2],
  [128, 2],
  [256, 2],
  [256, 1],
  [256, 1],
  [256, 1],
  [256, 1],
] as const;

/** Images `x` float32[N,3,224,224] to 1000 scores `y`: about 12 ms for one image on one core of a server of 2022. */
export function makeConvNet(): string {
  const convolutions = CONV_LAYERS.map(([channels, stride], index) => {
    const from = CONV_LAYERS[index - 1]?.[0] ?? 3;
    return convolution({ index, from, channels, stride });
  });
  const last = CONV_LAYERS.length - 1;
  return writeModel("conv-net", {
    inputs: [{ name: "x", type: { elemType: "float32", shape: ["N", 3, 224, 224] } }],
    outputs: [{ name: "y", type: { elemType: "float32", shape: ["N", 1000] } }],
    initializers: [...convolutions.map(({ weight }) => weight), weights("scores", [256, 1000])],
    nodes: [
      ...convolutions.flatMap(({ nodes }) => nodes),
      node("GlobalAveragePool", [`relu${last}`], ["pooled"]),
      node("Flatten", ["pooled"], ["features"]),
      node("MatMul", ["features", "scores"], ["y"]),
    ],
  });
}

interface Convolution {
  readonly index: number;
  readonly from: number;
  readonly channels: number;
  readonly stride: number;
}

function convolution({ index, from, channels, stride }: Convolution): { weight: Initializer; nodes: OnnxNode[] } {
  const input = index === 0 ? "x" : `relu${index - 1}`;
  const attributes = { strides: [stride, stride], pads: [1, 1, 1, 1], kernel_shape: [3, 3] };
  return {
    weight: weights(`filters${index}`, [channels, from, 3, 3]),
    nodes: [
      { op: "Conv", inputs: [input, `filters${index}`], outputs: [`conv${index}`], attributes },
      node("Relu", [`conv${index}`], [`relu${index}`]),
    ],
  };
}

/** Dense layers of the given widths, `x` float32[N,first] to `y` float32[N,last]. */
export function makeDenseNet(name: string, widths: readonly number[]): string {
  const layers = widths.slice(1).map((width, index) => [widths[index] as number, width] as const);
  const output = (index: number) => (index === layers.length - 1 ? "y" : `tanh${index}`);
  return writeModel(name, {
    inputs: [{ name: "x", type: { elemType: "float32", shape: ["N", widths[0] as number] } }],
    outputs: [{ name: "y", type: { elemType: "float32", shape: ["N", widths.at(-1) as number] } }],
    initializers: layers.map((shape, index) => weights(`w${index}`, shape)),
    nodes: layers.flatMap((_, index) => [
      node("MatMul", [index === 0 ? "x" : output(index - 1), `w${index}`], [`product${index}`]),
      node("Tanh", [`product${index}`], [output(index)]),
    ]),
  });
}

/**
 * Values that keep what comes out about as large as what went in, however many are
 * added up: `shape` is [out, in, 3, 3] or [in, out].
 */
function weights(name: string, shape: readonly number[]): Initializer {
  const count = shape.reduce((product, size) => product * size, 1);
  const summands = shape.length === 2 ? (shape[0] as number) : count / (shape[0] as number);
  const scale = Math.sqrt(6 / summands);
  const data = new Float32Array(count);
  for (let index = 0; index < count; index++) data[index] = (((index * 7919) % 100_003) / 50_001 - 1) * scale;
  return { name, dtype: "float32", shape, data };
}

function node(op: string, inputs: readonly string[], outputs: readonly string[]): OnnxNode {
  return { op, inputs, outputs };
}

/** The model's path. */
function writeModel(name: string, graph: Omit<OnnxGraph, "name">): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = `${FOLDER}${name}.onnx`;
  writeFileSync(path, encodeModel({ opset: 17, graph: { name, ...graph } }));
  return path;
}
