import { ATTRIBUTE, GRAPH, TENSOR } from "./guards/graph-node.ts";
import { type GraphNode, readNode } from "./guards/scope.ts";
import type { ProtobufField, ProtobufFile } from "./protobuf-file.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { graph: 7, function: 25 };
const FUNCTION = { name: 1, node: 7, domain: 10 };

/** Operators whose result is of the shapes of their inputs alone. */
const OF_SHAPES = ["Shape", "Size"];

/**
 * Checks that the duration of a model's runs depends on the shapes of its inputs alone, not on their values: it has
 * only operators of which that is known, no graphs within nodes, and functions of the same kind; throws ProtobufError.
 */
export function hasBoundedRuns(file: ProtobufFile, size: number): boolean {
  const parts = [...file.fields(0, size)];
  const functions = parts.filter(({ number }) => number === MODEL.function);
  const own = new Set(functions.map((field) => nameOf(field, file)));
  return parts.every((field) => {
    if (field.number === MODEL.graph) return new Body(file, own).isBounded(field, GRAPH.node);
    return field.number !== MODEL.function || new Body(file, own).isBounded(field, FUNCTION.node);
  });
}

function nameOf(field: ProtobufField, file: ProtobufFile): string {
  const [domain] = texts(file, field, FUNCTION.domain);
  return `${domain ?? ""}:${texts(file, field, FUNCTION.name)[0]}`;
}

function texts(file: ProtobufFile, { start, end }: ProtobufField, number: number): string[] {
  return [...file.fields(start, end)].filter((field) => field.number === number).map((field) => file.text(field));
}

/** The nodes of a graph or a function, in the order in which they run. */
class Body {
  readonly #file: ProtobufFile;
  readonly #functions: ReadonlySet<string>;
  /** Names of the values that constants and shapes alone decide. */
  readonly #known = new Set<string>();

  constructor(file: ProtobufFile, functions: ReadonlySet<string>) {
    this.#file = file;
    this.#functions = functions;
  }

  isBounded(body: ProtobufField, nodeField: number): boolean {
    const fields = [...this.#file.fields(body.start, body.end)];
    if (nodeField === GRAPH.node) this.#addConstants(fields);
    return fields.every((field) => field.number !== nodeField || this.#takes(readNode(this.#file, field)));
  }

  #addConstants(fields: readonly ProtobufField[]): void {
    for (const field of fields) {
      if (field.number !== GRAPH.initializer) continue;
      const [name] = texts(this.#file, field, TENSOR.name);
      if (name !== undefined) this.#known.add(name);
    }
  }

  #takes(node: GraphNode): boolean {
    if (this.#functions.has(`${node.domain}:${node.operator}`)) return !this.#holdsGraph(node);
    const places = valuesThatBound(node.domain, node.operator);
    if (places === undefined || this.#holdsGraph(node)) return false;
    if (!places.every((place) => this.#isKnown(node.inputs[place] ?? ""))) return false;
    if (OF_SHAPES.includes(node.operator) || node.inputs.every((name) => this.#isKnown(name)))
      for (const name of node.outputs) this.#known.add(name);
    return true;
  }

  /** An input that is left out has a value that nothing decides. */
  #isKnown(name: string): boolean {
    return name === "" || this.#known.has(name);
  }

  #holdsGraph({ attributes }: GraphNode): boolean {
    const isGraph = ({ number }: ProtobufField) => number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs;
    return attributes.some(({ span }) => [...this.#file.fields(span.start, span.end)].some(isGraph));
  }
}

/** Operators whose work, and whose outputs' shapes, depend on the shapes of their inputs alone. */
const BY_SHAPES = words(`
  Abs Acos Acosh Add Affine And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitCast BitShift
  BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Concat Constant Conv ConvInteger ConvTranspose
  Cos Cosh Crop CumProd CumSum DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu
  Equal Erf Exp EyeLike Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool
  GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity ImageScaler
  InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization
  LpPool MatMul MatMulInteger Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul Neg Not Or PRelu
  ParametricSoftplus Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization Reciprocal Relu ReverseSequence
  RotaryEmbedding Round Scale ScaledTanh Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign
  SimplifiedLayerNormalization Sin Sinh Size Softmax Softplus Softsign SpaceToDepth Sqrt Sub Sum Swish Tan Tanh
  TensorScatter ThresholdedRelu Transpose Trilu Where Xor
`);
const OF_MICROSOFT = words(`
  Attention BiasGelu CDist DequantizeLinear DynamicQuantizeMatMul EmbedLayerNormalization FastGelu FusedConv FusedGemm
  FusedMatMul GatherND Gelu GridSample Inverse MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulIntegerToFloat MatMulNBits
  MultiHeadAttention NhwcMaxPool QAttention QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat
  QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere
  QuantizeLinear QuickGelu RotaryEmbedding SkipLayerNormalization SkipSimplifiedLayerNormalization TransposeMatMul Trilu
`);
const OF_ML = words(`
  ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer
  OneHotEncoder SVMClassifier SVMRegressor Scaler ZipMap
`);

/** Operators of which that is true if the inputs at these places have values that no request decides. */
const BY_VALUES: Readonly<Record<string, readonly number[]>> = {
  AffineGrid: [1],
  Attention: [6],
  BlackmanWindow: [0],
  Col2Im: [1, 2],
  Compress: [1],
  ConstantOfShape: [0],
  DFT: [1, 2],
  Expand: [1],
  GRU: [4],
  HammingWindow: [0],
  HannWindow: [0],
  LSTM: [4],
  MaxUnpool: [2],
  MelWeightMatrix: [0, 1, 2, 3, 4],
  NonMaxSuppression: [0, 1, 2, 3, 4],
  NonZero: [0],
  OneHot: [1],
  Pad: [1, 3],
  RNN: [4],
  Range: [0, 1, 2],
  ReduceL1: [1],
  ReduceL2: [1],
  ReduceLogSum: [1],
  ReduceLogSumExp: [1],
  ReduceMax: [1],
  ReduceMean: [1],
  ReduceMin: [1],
  ReduceProd: [1],
  ReduceSum: [1],
  ReduceSumSquare: [1],
  Reshape: [1],
  Resize: [1, 2, 3],
  STFT: [1, 3],
  Slice: [1, 2, 3, 4],
  Split: [1],
  Squeeze: [1],
  Tile: [1],
  TopK: [1],
  Unique: [0],
  Unsqueeze: [1],
  Upsample: [1],
};

/**
 * The operators of each domain by whose use a model's runs stay bounded, with the places of the inputs whose values
 * have to be known for it. All others are not: those whose work depends on values, and those of which nothing is known.
 */
const BOUNDED: Readonly<Record<string, ReadonlyMap<string, readonly number[]>>> = {
  "": new Map([...BY_SHAPES, ...Object.entries(BY_VALUES)]),
  "ai.onnx.ml": new Map(OF_ML),
  "com.microsoft": new Map([
    ...OF_MICROSOFT,
    ["DynamicQuantizeLSTM", [4]],
    ["ExpandDims", [1]],
    ["Pad", [1]],
    ["Range", [0, 1, 2]],
    ["Unique", [0]],
  ]),
};

/** The places of the inputs whose values have to be known; undefined for an operator that nothing bounds. */
export function valuesThatBound(domain: string, operator: string): readonly number[] | undefined {
  const name = domain === "ai.onnx" ? "" : domain;
  return Object.hasOwn(BOUNDED, name) ? BOUNDED[name]!.get(operator) : undefined;
}

function words(text: string): (readonly [operator: string, places: readonly number[]])[] {
  return text
    .trim()
    .split(/\s+/)
    .map((operator) => [operator, []] as const);
}
