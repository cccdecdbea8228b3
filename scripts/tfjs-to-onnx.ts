import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Attribute, encodeModel, type Initializer, type OnnxNode, type ValueInfo } from "./onnx-writer.ts";

/**
 * Converts a TensorFlow.js graph model (`model.json` with its weight files beside it) into the bytes of an ONNX model.
 * Inputs and outputs keep their names and their NHWC layout; a dimension of unknown size is called `N`.
 * It knows the operators of the demo's two models; for any other it throws, naming it.
 */
export async function convertToOnnx(modelPath: string): Promise<Uint8Array> {
  const model: TfjsModel = JSON.parse(await readFile(modelPath, "utf8"));
  const graph = createGraph(await loadWeights(model, dirname(modelPath)));
  const nodes = model.modelTopology.node;
  for (const node of nodes) convertNode(node, graph);
  const outputs = nodes.filter((node) => isOutput(node, nodes)).map(({ name }) => toValueInfo(name));
  const { inputs, initializers } = graph;
  return encodeModel({ opset: 13, graph: { name: "graph", inputs, outputs, initializers, nodes: graph.nodes } });
}

interface TfjsModel {
  readonly modelTopology: { readonly node: readonly TfNode[] };
  readonly weightsManifest: readonly { readonly paths: readonly string[]; readonly weights: readonly WeightSpec[] }[];
}

interface TfNode {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, TfAttribute>>;
}

/** protobuf's JSON form: 64-bit integers as text, bytes as base64. */
interface TfAttribute {
  readonly s?: string;
  readonly b?: boolean;
  readonly list?: { readonly i?: readonly string[]; readonly s?: readonly string[] };
  readonly shape?: { readonly dim: readonly { readonly size: string }[] };
}

interface WeightSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly quantization?: unknown;
}

interface Weight {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
}

/** The ONNX graph in the making. */
interface Graph {
  readonly inputs: ValueInfo[];
  readonly nodes: OnnxNode[];
  readonly initializers: Initializer[];
  /** Adds an operator and gives its output's name. */
  add(
    op: string,
    inputs: readonly string[],
    options?: { output?: string; attributes?: OnnxNode["attributes"] },
  ): string;
  /** The ONNX name of a node's input; a weight becomes an initializer when it is first used. */
  operand(tfName: string): string;
  weight(tfName: string): Weight;
  floats(shape: readonly number[], data: Float32Array): string;
  integers(values: readonly number[]): string;
}

async function loadWeights(model: TfjsModel, folder: string): Promise<Map<string, Weight>> {
  const weights = new Map<string, Weight>();
  for (const group of model.weightsManifest) {
    const bytes = Buffer.concat(await Promise.all(group.paths.map((path) => readFile(join(folder, path)))));
    let offset = 0;
    for (const spec of group.weights) {
      const weight = readWeight(spec, bytes, offset);
      offset += weight.data.byteLength;
      weights.set(spec.name, weight);
    }
  }
  return weights;
}

function readWeight({ name, shape, dtype, quantization }: WeightSpec, bytes: Buffer, offset: number): Weight {
  if (quantization !== undefined || (dtype !== "float32" && dtype !== "int32")) {
    throw new Error(`Weight ${name} is ${dtype}${quantization ? ", quantized" : ""}; expected plain float32 or int32.`);
  }
  const count = shape.reduce((product, dimension) => product * dimension, 1);
  const copy = Uint8Array.from(bytes.subarray(offset, offset + 4 * count)).buffer;
  return { shape, data: dtype === "int32" ? new Int32Array(copy) : new Float32Array(copy) };
}

function createGraph(weights: ReadonlyMap<string, Weight>): Graph {
  const inputs: ValueInfo[] = [];
  const nodes: OnnxNode[] = [];
  const initializers: Initializer[] = [];
  const used = new Set<string>();
  let unnamed = 0;
  const addInitializer = (initializer: Initializer): string => {
    initializers.push(initializer);
    return initializer.name;
  };
  const weight = (tfName: string): Weight => {
    const found = weights.get(baseName(tfName));
    if (found === undefined)
      throw new Error(`${tfName} is not a constant; only constant shapes and filters are known.`);
    return found;
  };
  return {
    inputs,
    nodes,
    initializers,
    weight,
    add: (op, operands, { output = `value_${unnamed++}`, attributes = {} } = {}) => {
      nodes.push({ op, inputs: operands, outputs: [output], attributes });
      return output;
    },
    operand: (tfName) => {
      const name = baseName(tfName);
      if (!weights.has(name) || used.has(name)) return name;
      used.add(name);
      const { shape, data } = weight(name);
      return addInitializer({ name, dtype: data instanceof Int32Array ? "int32" : "float32", shape, data });
    },
    floats: (shape, data) => addInitializer({ name: `constant_${unnamed++}`, dtype: "float32", shape, data }),
    integers: (values) => {
      const data = BigInt64Array.from(values, BigInt);
      return addInitializer({ name: `constant_${unnamed++}`, dtype: "int64", shape: [values.length], data });
    },
  };
}

/** `name:0` names a node's first output, which ONNX calls by the node's name. */
function baseName(tfName: string): string {
  return tfName.replace(/:0$/, "");
}

type Converter = (node: TfNode, inputs: readonly string[], graph: Graph) => void;

const CONVERTERS: Readonly<Record<string, Converter>> = {
  Const: () => {},
  Placeholder: (node, _inputs, graph) => graph.inputs.push(toValueInfo(node.name, attribute(node, "shape").shape)),
  Identity: same("Identity"),
  AddV2: same("Add"),
  Relu: same("Relu"),
  Softmax: same("Softmax", { axis: -1 }),
  _FusedConv2D: (node, inputs, graph) => convertConvolution(node, inputs, graph),
  DepthwiseConv2dNative: (node, inputs, graph) => convertConvolution(node, inputs, graph),
  MaxPool: convertMaxPool,
  Mean: convertMean,
  Pad: convertPad,
  Reshape: convertReshape,
};

function convertNode(node: TfNode, graph: Graph): void {
  const convert = CONVERTERS[node.op];
  if (convert === undefined) {
    throw new Error(
      `Operator ${node.op} (node ${node.name}) is not known; known: ${Object.keys(CONVERTERS).join(", ")}.`,
    );
  }
  const inputs = (node.input ?? []).filter((name) => !name.startsWith("^"));
  convert(node, inputs, graph);
}

/** An operator that ONNX has too. */
function same(op: string, attributes: Readonly<Record<string, Attribute>> = {}): Converter {
  return ({ name }, inputs, graph) => graph.add(op, inputs.map(graph.operand), { output: name, attributes });
}

const TO_NCHW = { perm: [0, 3, 1, 2] };
const TO_NHWC = { perm: [0, 2, 3, 1] };

/**
 * ONNX convolves NCHW only, so each spatial operator stands between two transposes;
 * runtimes remove the pairs that meet when they optimize the graph.
 */
function addSpatial(node: TfNode, image: string, graph: Graph, build: (image: string) => string): void {
  const input = graph.add("Transpose", [graph.operand(image)], { attributes: TO_NCHW });
  graph.add("Transpose", [build(input)], { output: node.name, attributes: TO_NHWC });
}

function convertConvolution(node: TfNode, [image = "", filter = "", bias = ""]: readonly string[], graph: Graph): void {
  const fused = fusedOperators(node);
  const [height = 1, width = 1, channels = 1, last = 1] = graph.weight(filter).shape;
  const depthwise = node.op === "DepthwiseConv2dNative";
  const shape = depthwise ? [channels * last, 1, height, width] : [last, channels, height, width];
  const weights = transposeFilter(graph.weight(filter), depthwise ? [2, 3, 0, 1] : [3, 2, 0, 1]);
  const attributes = {
    ...windowAttributes(node),
    kernel_shape: [height, width],
    dilations: spatial(node, "dilations"),
    group: depthwise ? channels : 1,
  };
  addSpatial(node, image, graph, (input) => {
    const operands = [input, graph.floats(shape, weights), ...(fused.includes("BiasAdd") ? [graph.operand(bias)] : [])];
    const convolved = graph.add("Conv", operands, { attributes });
    return fused.includes("Relu") ? graph.add("Relu", [convolved]) : convolved;
  });
}

function fusedOperators(node: TfNode): readonly string[] {
  const fused = (node.attr?.fused_ops?.list?.s ?? []).map(fromBase64);
  const unknown = fused.find((name) => name !== "BiasAdd" && name !== "Relu");
  if (unknown !== undefined) throw new Error(`Operator ${unknown}, fused into node ${node.name}, is not known.`);
  return fused;
}

/** Reorders the four axes of a filter. */
function transposeFilter({ shape, data }: Weight, order: readonly [number, number, number, number]): Float32Array {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, dimension) => product * dimension, 1));
  const [a, b, c, d] = order.map((axis) => ({ size: shape[axis] as number, stride: strides[axis] as number })) as [
    Axis,
    Axis,
    Axis,
    Axis,
  ];
  const result = new Float32Array(data.length);
  let next = 0;
  for (let i = 0; i < a.size; i++)
    for (let j = 0; j < b.size; j++)
      for (let k = 0; k < c.size; k++)
        for (let l = 0; l < d.size; l++)
          result[next++] = data[i * a.stride + j * b.stride + k * c.stride + l * d.stride] as number;
  return result;
}

interface Axis {
  readonly size: number;
  readonly stride: number;
}

function convertMaxPool(node: TfNode, [image = ""]: readonly string[], graph: Graph): void {
  const attributes = { ...windowAttributes(node), kernel_shape: spatial(node, "ksize") };
  addSpatial(node, image, graph, (input) => graph.add("MaxPool", [input], { attributes }));
}

function convertMean(node: TfNode, [input = "", axes = ""]: readonly string[], graph: Graph): void {
  const keepdims = attribute(node, "keep_dims").b ? 1 : 0;
  const attributes = { axes: [...graph.weight(axes).data], keepdims };
  graph.add("ReduceMean", [graph.operand(input)], { output: node.name, attributes });
}

/** TensorFlow pairs begin and end per axis; ONNX lists all begins, then all ends. */
function convertPad(node: TfNode, [input = "", paddings = ""]: readonly string[], graph: Graph): void {
  const pairs = [...graph.weight(paddings).data];
  const pads = [...pairs.filter((_, at) => at % 2 === 0), ...pairs.filter((_, at) => at % 2 === 1)];
  graph.add("Pad", [graph.operand(input), graph.integers(pads)], { output: node.name });
}

function convertReshape(node: TfNode, [input = "", shape = ""]: readonly string[], graph: Graph): void {
  const wanted = graph.integers([...graph.weight(shape).data]);
  graph.add("Reshape", [graph.operand(input), wanted], { output: node.name });
}

function windowAttributes(node: TfNode): Readonly<Record<string, Attribute>> {
  const padding = fromBase64(attribute(node, "padding").s ?? "");
  return { strides: spatial(node, "strides"), auto_pad: padding === "SAME" ? "SAME_UPPER" : "VALID" };
}

/** Height and width of an NHWC list such as `strides`. */
function spatial(node: TfNode, name: string): number[] {
  return (attribute(node, name).list?.i ?? []).slice(1, 3).map(Number);
}

function attribute(node: TfNode, name: string): TfAttribute {
  const value = node.attr?.[name];
  if (value === undefined) throw new Error(`Node ${node.name} has no attribute ${name}.`);
  return value;
}

function toValueInfo(name: string, shape?: TfAttribute["shape"]): ValueInfo {
  if (shape === undefined) return { name, type: { elemType: "float32" } };
  const dimensions = shape.dim.map(({ size }) => (Number(size) < 0 ? "N" : Number(size)));
  return { name, type: { elemType: "float32", shape: dimensions } };
}

function isOutput(node: TfNode, nodes: readonly TfNode[]): boolean {
  return node.op !== "Const" && !nodes.some(({ input = [] }) => input.map(baseName).includes(node.name));
}

function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString();
}
