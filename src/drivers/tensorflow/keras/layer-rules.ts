/** Rule that makes a layer of Keras in tfjs-layers. Options that a rule does not mention are refused. */
export interface LayerRule {
  /** Its class there, if that has another name. */
  readonly as?: string;
  /** Options that mean the same on both sides. */
  readonly takes: readonly string[];
  /** Options that tfjs-layers lacks or reads differently, with the values for which that changes nothing. */
  readonly only?: Readonly<Record<string, readonly unknown[]>>;
  /** Options by their names in Keras, with their names in tfjs-layers. */
  readonly renames?: Readonly<Record<string, string>>;
  /** Options with layers within. */
  readonly wraps?: readonly string[];
  /** Made here: tfjs-layers lacks the class, or has another one of the name. */
  readonly isOwn?: boolean;
  /** Names of further inputs, in the order in which calls have them. */
  readonly inputs?: readonly string[];
}

const CONVOLUTION = [
  "filters",
  "kernel_size",
  "strides",
  "padding",
  "data_format",
  "dilation_rate",
  "activation",
  "use_bias",
];
const POOLING = ["pool_size", "strides", "padding", "data_format"];
const RECURRENT = ["units", "activation", "use_bias", "return_sequences", "return_state", "go_backwards"];
const LAST_CHANNELS = { data_format: ["channels_last"] };
const RECURRENT_ONLY = { stateful: [false], time_major: [false], zero_output_for_mask: [true, false] };
/** Layers that do something while a model learns, and nothing while it predicts. */
const IDLE: LayerRule = { as: "Activation", takes: [] };
const GLOBAL_POOLING: LayerRule = { takes: ["data_format", "keepdims"] };
const QUERIES: Pick<LayerRule, "inputs" | "isOwn"> = { inputs: ["value", "key"], isOwn: true };
const AXIS_1D: LayerRule = { takes: [...CONVOLUTION, "groups"], only: LAST_CHANNELS };
const MERGE: LayerRule = { takes: [] };

/** Every layer that is known to give the same numbers in tfjs-layers as in Keras, by its class in Keras. */
export const LAYER_RULES: Readonly<Record<string, LayerRule>> = {
  InputLayer: { takes: ["batch_input_shape"], only: { sparse: [false], ragged: [false], optional: [false] } },
  Dense: { takes: ["units", "activation", "use_bias"] },
  Activation: { takes: ["activation"] },
  Flatten: { takes: ["data_format"] },
  Reshape: { takes: ["target_shape"] },
  Permute: { takes: ["dims"] },
  RepeatVector: { takes: ["n"] },
  Masking: { takes: ["mask_value"] },
  Embedding: { takes: ["input_dim", "output_dim", "mask_zero"] },
  Conv1D: { takes: [...CONVOLUTION, "groups"], only: LAST_CHANNELS },
  Conv2D: { takes: [...CONVOLUTION, "groups"] },
  Conv3D: { takes: CONVOLUTION, only: { groups: [1] } },
  Conv2DTranspose: { takes: CONVOLUTION, only: { output_padding: [null], dilation_rate: [[1, 1]], groups: [1] } },
  DepthwiseConv2D: {
    takes: CONVOLUTION.filter((key) => key !== "filters").concat("depth_multiplier"),
    only: { groups: [1], dilation_rate: [[1, 1]] },
  },
  SeparableConv2D: {
    takes: [...CONVOLUTION, "depth_multiplier"],
    only: { ...LAST_CHANNELS, groups: [1] },
    renames: { kernel_initializer: "depthwise_initializer" },
  },
  Conv1DTranspose: {
    ...AXIS_1D,
    isOwn: true,
    only: { ...LAST_CHANNELS, output_padding: [null], dilation_rate: [[1], 1] },
  },
  SeparableConv1D: {
    takes: [...CONVOLUTION, "depth_multiplier"],
    only: { ...LAST_CHANNELS, groups: [1], padding: ["valid", "same"] },
    isOwn: true,
  },
  DepthwiseConv1D: {
    takes: [...CONVOLUTION, "depth_multiplier"],
    only: { ...LAST_CHANNELS, groups: [1], padding: ["valid", "same"] },
    isOwn: true,
  },
  ZeroPadding1D: { takes: ["padding"], only: LAST_CHANNELS, isOwn: true },
  ZeroPadding3D: { takes: ["padding"], only: LAST_CHANNELS, isOwn: true },
  Cropping1D: { takes: ["cropping"], only: LAST_CHANNELS, isOwn: true },
  Cropping3D: { takes: ["cropping"], only: LAST_CHANNELS, isOwn: true },
  UpSampling1D: { takes: ["size"], only: LAST_CHANNELS, isOwn: true },
  UpSampling3D: { takes: ["size"], only: LAST_CHANNELS, isOwn: true },
  ZeroPadding2D: { takes: ["padding", "data_format"] },
  Cropping2D: { takes: ["cropping", "data_format"] },
  UpSampling2D: { takes: ["size", "data_format"], only: { interpolation: ["nearest"] } },
  MaxPooling1D: { takes: POOLING, only: LAST_CHANNELS },
  MaxPooling2D: { takes: POOLING },
  MaxPooling3D: { takes: POOLING },
  AveragePooling1D: { takes: POOLING, only: LAST_CHANNELS },
  AveragePooling2D: { takes: POOLING },
  AveragePooling3D: { takes: POOLING },
  GlobalAveragePooling1D: GLOBAL_POOLING,
  GlobalAveragePooling2D: GLOBAL_POOLING,
  GlobalAveragePooling3D: GLOBAL_POOLING,
  GlobalMaxPooling1D: GLOBAL_POOLING,
  GlobalMaxPooling2D: GLOBAL_POOLING,
  GlobalMaxPooling3D: GLOBAL_POOLING,
  BatchNormalization: {
    takes: ["axis", "epsilon", "center", "scale"],
    only: { virtual_batch_size: [null], adjustment: [null], fused: [null, true, false] },
  },
  LayerNormalization: { takes: ["axis", "epsilon", "center", "scale"], only: { rms_scaling: [false] } },
  Normalization: { takes: ["axis", "mean", "variance", "invert"], isOwn: true },
  GroupNormalization: { takes: ["groups", "axis", "epsilon", "center", "scale"], isOwn: true },
  UnitNormalization: { takes: ["axis"], isOwn: true },
  RMSNormalization: { takes: ["axis", "epsilon"], only: { axis: [-1, [-1]] }, isOwn: true },
  MultiHeadAttention: {
    ...QUERIES,
    takes: ["num_heads", "key_dim", "value_dim", "use_bias", "output_shape"],
    only: { attention_axes: [null, [1]], use_gate: [false], sliding_window: [null], flash_attention: [null, false] },
  },
  Attention: { ...QUERIES, takes: ["use_scale"], only: { score_mode: ["dot"], causal: [false] } },
  AdditiveAttention: { ...QUERIES, takes: ["use_scale"], only: { causal: [false] } },
  EinsumDense: { takes: ["equation", "output_shape", "activation", "bias_axes"], isOwn: true },
  SimpleRNN: { takes: RECURRENT, only: RECURRENT_ONLY },
  LSTM: { takes: [...RECURRENT, "recurrent_activation"], only: RECURRENT_ONLY },
  GRU: { takes: [...RECURRENT, "recurrent_activation", "reset_after"], only: RECURRENT_ONLY },
  Bidirectional: { takes: ["merge_mode"], wraps: ["layer", "backward_layer"] },
  TimeDistributed: { takes: [], wraps: ["layer"] },
  ReLU: { takes: ["max_value"], only: { negative_slope: [0], threshold: [0] } },
  LeakyReLU: { takes: ["alpha"], renames: { negative_slope: "alpha" } },
  PReLU: { takes: ["shared_axes"] },
  ELU: { takes: ["alpha"], only: { alpha: [1] } },
  ThresholdedReLU: { takes: ["theta"] },
  Softmax: { takes: ["axis"], isOwn: true },
  Add: MERGE,
  Subtract: { ...MERGE, isOwn: true },
  Identity: { ...MERGE, isOwn: true },
  Multiply: MERGE,
  Average: MERGE,
  Maximum: MERGE,
  Minimum: MERGE,
  Concatenate: { takes: ["axis"], only: { axis: [-1, 1, 2, 3, 4] } },
  Dot: { takes: ["axes", "normalize"] },
  Rescaling: { takes: ["scale", "offset"] },
  ConvLSTM2D: {
    takes: [...CONVOLUTION, ...RECURRENT.filter((key) => key !== "units"), "recurrent_activation", "unit_forget_bias"],
    only: RECURRENT_ONLY,
  },
  Dropout: IDLE,
  SpatialDropout1D: IDLE,
  SpatialDropout2D: IDLE,
  SpatialDropout3D: IDLE,
  GaussianDropout: IDLE,
  GaussianNoise: IDLE,
  AlphaDropout: IDLE,
  ActivityRegularization: IDLE,
  RandomFlip: IDLE,
  RandomRotation: IDLE,
  RandomTranslation: IDLE,
  RandomZoom: IDLE,
};

/** Options of any layer that say how it learns or was first filled, or how its numbers are found, not which. */
export const IDLE_OPTIONS =
  /^(name|trainable|dtype|autocast|seed|implementation|unroll|use_cudnn|momentum|synchronized|unit_forget_bias|dropout|recurrent_dropout|input_length|fill_mode|fill_value|renorm.*|.*_(initializer|regularizer|constraint))$/;

/** Options that change a layer if they have any value at all. */
export const REFUSED_OPTIONS = ["lora_rank", "quantization_config", "renorm"];

/** Activations that are the same in tfjs-layers, by their names in Keras. */
export const ACTIVATIONS: Readonly<Record<string, string>> = {
  linear: "linear",
  relu: "relu",
  relu6: "relu6",
  elu: "elu",
  selu: "selu",
  softplus: "softplus",
  softsign: "softsign",
  tanh: "tanh",
  sigmoid: "sigmoid",
  softmax: "softmax",
  log_softmax: "logSoftmax",
  gelu: "gelu",
  silu: "swish",
  swish: "swish",
  mish: "mish",
};
