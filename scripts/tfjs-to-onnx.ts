import {
  type Attribute,
  encodeModel,
  type Initializer,
  type OnnxNode,
  type ValueInfo,
} from "../test/fixtures/make/onnx-writer.ts";
import { attribute, loadTfjsModel, spatial, type TfNode, text, texts, type Weight } from "./tfjs-model.ts";

/**
 * Converts a TensorFlow.js graph model (`model.json` with its weight files beside it) into the bytes of an ONNX model.
 * Inputs and outputs keep their names and their NHWC layout; a dimension of unknown size is called `N`.
 * It knows the operators of the demo's two models; for any other it throws, naming it.
 */
export async function convertToOnnx(modelPath: string): Promise<Uint8Array> {
  const { nodes: tfNodes, weights } = await loadTfjsModel(modelPath);
  const graph = new Graph(weights);
  for (const node of tfNodes) convertNode(node, graph);
  const outputs = tfNodes.filter((node) => isOutput(node, tfNodes)).map(({ name }) => toValueInfo(name));
  const { inputs, nodes, initializers } = graph;
  return encodeModel({ opset: 13, graph: { name: "graph", inputs, outputs, initializers, nodes } });
}

/** The ONNX graph in the making. */
class Graph {
  readonly inputs: ValueInfo[] = [];
  readonly nodes: OnnxNode[] = [];
  readonly initializers: Initializer[] = [];
  readonly #weights: ReadonlyMap<string, Weight>;
  #unnamed = 0;

  constructor(weights: ReadonlyMap<string, Weight>) {
    this.#weights = weights;
  }

  /** Adds an operator and gives its output's name, a new one unless told. */
  add(op: string, inputs: readonly string[], options: { output?: string; attributes?: Attributes } = {}): string {
    const { output = this.#newName(), attributes = {} } = options;
    this.nodes.push({ op, inputs, outputs: [output], attributes });
    return output;
  }

  /** The ONNX name of a node's input; a weight becomes an initializer when it is first used. */
  operand(tfName: string): string {
    const name = baseName(tfName);
    const weight = this.#weights.get(name);
    if (weight === undefined || this.initializers.some((initializer) => initializer.name === name)) return name;
    return this.#addConstant(weight.data instanceof Int32Array ? "int32" : "float32", weight.shape, weight.data, name);
  }

  /** A node's input that must be known at conversion. */
  constant(tfName: string): Weight {
    const weight = this.#weights.get(baseName(tfName));
    if (weight !== undefined) return weight;
    throw new Error(`${tfName} is not a constant; only constant shapes and filters are known.`);
  }

  floats(shape: readonly number[], data: Float32Array): string {
    return this.#addConstant("float32", shape, data);
  }

  integers(values: readonly number[]): string {
    return this.#addConstant("int64", [values.length], BigInt64Array.from(values, BigInt));
  }

  #addConstant(
    dtype: Initializer["dtype"],
    shape: readonly number[],
    data: ArrayBufferView,
    name = this.#newName(),
  ): string {
    this.initializers.push({ name, dtype, shape, data });
    return name;
  }

  #newName(): string {
    return `value_${this.#unnamed++}`;
  }
}

type Attributes = Readonly<Record<string, Attribute>>;
type Converter = (node: TfNode, inputs: readonly string[], graph: Graph) => void;

const CONVERTERS: Readonly<Record<string, Converter>> = {
  Const: () => {},
  Placeholder: (node, _inputs, graph) => graph.inputs.push(toValueInfo(node.name, attribute(node, "shape").shape)),
  Identity: same("Identity"),
  AddV2: same("Add"),
  Relu: same("Relu"),
  Softmax: same("Softmax", { axis: -1 }),
  _FusedConv2D: convertConvolution,
  DepthwiseConv2dNative: convertConvolution,
  MaxPool: convertMaxPool,
  Mean: convertMean,
  Pad: convertPad,
  Reshape: convertReshape,
};

function convertNode(node: TfNode, graph: Graph): void {
  const convert = Object.hasOwn(CONVERTERS, node.op) ? CONVERTERS[node.op] : undefined;
  if (convert === undefined) {
    const known = Object.keys(CONVERTERS).join(", ");
    throw new Error(`Operator ${node.op} (node ${node.name}) is not known; known: ${known}.`);
  }
  const isData = (name: string) => !name.startsWith("^");
  convert(node, (node.input ?? []).filter(isData), graph);
}

/** An operator that ONNX has too. */
function same(op: string, attributes: Attributes = {}): Converter {
  return ({ name }, inputs, graph) => {
    const operands = inputs.map((input) => graph.operand(input));
    graph.add(op, operands, { output: name, attributes });
  };
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

/** A depthwise filter is [height, width, channels, multiplier], any other [height, width, channels, outputs]. */
function convertConvolution(node: TfNode, [image = "", filter = "", bias = ""]: readonly string[], graph: Graph): void {
  const fused = fusedOperators(node);
  const [height = 1, width = 1, channels = 1, last = 1] = graph.constant(filter).shape;
  const depthwise = node.op === "DepthwiseConv2dNative";
  const shape = depthwise ? [channels * last, 1, height, width] : [last, channels, height, width];
  const weights = transpose(graph.constant(filter), depthwise ? [2, 3, 0, 1] : [3, 2, 0, 1]);
  const group = depthwise ? channels : 1;
  const window = { ...windowAttributes(node), kernel_shape: [height, width], dilations: spatial(node, "dilations") };
  addSpatial(node, image, graph, (input) => {
    const operands = [input, graph.floats(shape, weights), ...(fused.includes("BiasAdd") ? [graph.operand(bias)] : [])];
    const convolved = graph.add("Conv", operands, { attributes: { ...window, group } });
    return fused.includes("Relu") ? graph.add("Relu", [convolved]) : convolved;
  });
}

function fusedOperators(node: TfNode): string[] {
  const fused = texts(node, "fused_ops");
  const unknown = fused.find((name) => name !== "BiasAdd" && name !== "Relu");
  if (unknown !== undefined) throw new Error(`Operator ${unknown}, fused into node ${node.name}, is not known.`);
  return fused;
}

/** Reorders the axes of a tensor. */
function transpose({ shape, data }: Weight, order: readonly number[]): Float32Array {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, size) => product * size, 1));
  const result = new Float32Array(data.length);
  let next = 0;
  const copy = (level: number, offset: number): void => {
    const axis = order[level];
    if (axis === undefined) {
      result[next++] = data[offset] as number;
      return;
    }
    for (let i = 0; i < (shape[axis] as number); i++) copy(level + 1, offset + i * (strides[axis] as number));
  };
  copy(0, 0);
  return result;
}

function convertMaxPool(node: TfNode, [image = ""]: readonly string[], graph: Graph): void {
  const attributes = { ...windowAttributes(node), kernel_shape: spatial(node, "ksize") };
  addSpatial(node, image, graph, (input) => graph.add("MaxPool", [input], { attributes }));
}

function convertMean(node: TfNode, [input = "", axes = ""]: readonly string[], graph: Graph): void {
  const keepdims = attribute(node, "keep_dims").b ? 1 : 0;
  const attributes = { axes: [...graph.constant(axes).data], keepdims };
  graph.add("ReduceMean", [graph.operand(input)], { output: node.name, attributes });
}

/** TensorFlow pairs begin and end per axis; ONNX lists all begins, then all ends. */
function convertPad(node: TfNode, [input = "", paddings = ""]: readonly string[], graph: Graph): void {
  const pairs = [...graph.constant(paddings).data];
  const pads = [...pairs.filter((_, at) => at % 2 === 0), ...pairs.filter((_, at) => at % 2 === 1)];
  graph.add("Pad", [graph.operand(input), graph.integers(pads)], { output: node.name });
}

function convertReshape(node: TfNode, [input = "", shape = ""]: readonly string[], graph: Graph): void {
  const wanted = graph.integers([...graph.constant(shape).data]);
  graph.add("Reshape", [graph.operand(input), wanted], { output: node.name });
}

function windowAttributes(node: TfNode): Attributes {
  const isSame = text(node, "padding") === "SAME";
  return { strides: spatial(node, "strides"), auto_pad: isSame ? "SAME_UPPER" : "VALID" };
}

/** Every input and output of these models is float32. */
function toValueInfo(name: string, tfShape?: { readonly dim: readonly { readonly size: string }[] }): ValueInfo {
  const shape = tfShape?.dim.map(({ size }) => (Number(size) < 0 ? "N" : Number(size)));
  return { name, type: { elemType: "float32", ...(shape && { shape }) } };
}

/** Checks that no other node takes a node's results. */
function isOutput(node: TfNode, nodes: readonly TfNode[]): boolean {
  return node.op !== "Const" && !nodes.some(({ input = [] }) => input.map(baseName).includes(node.name));
}

/** `name:0` is a node's first output, which ONNX calls by the node's name. */
function baseName(tfName: string): string {
  return tfName.replace(/:0$/, "");
}
