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

/** Operators of which that is true where the inputs at these places have values that no request decides. */
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
