import { CONTAINERS, isContainer, type KerasConfig, type LayerConfig, layersOf, nameOf } from "./keras-file.ts";
import { ACTIVATIONS, IDLE_OPTIONS, LAYER_RULES, type LayerRule, REFUSED_OPTIONS } from "./layer-rules.ts";
import { ownActivation, ownClassName } from "./own-layers/own-layer.ts";

/**
 * Modules from which Keras 3 takes layers; operators of `keras.ops` have the same class names and mean something else.
 */
const LAYER_MODULES = /^(keras(\.src)?(\.layers|\.models|$)|builtins$)/;

/** Obstacles between a Keras model and tfjs-layers, as texts; none if it can be served. */
export type Obstacles = readonly string[];

/** Collects the obstacles to serving a model. */
type Complain = (obstacle: string) => void;

/**
 * Rewrites a model's architecture into what tfjs-layers reads, which is that of Keras 2.
 * Initializers, regularizers and constraints are omitted: every weight is read from the file.
 * What would not give the same numbers is among the obstacles.
 */
export function toLayersConfig({ root, major }: KerasConfig): { config: LayerConfig; obstacles: Obstacles } {
  const obstacles: string[] = [];
  if (!isContainer(root)) obstacles.push(`the model's class ${root.class_name} is its author's own`);
  const config = toContainer(root, major, (obstacle) => obstacles.push(obstacle));
  return { config, obstacles: [...new Set(obstacles)] };
}

function toContainer(model: LayerConfig, major: number, complain: Complain): LayerConfig {
  const name = nameOf(model);
  const layers = layersOf(model);
  if (model.class_name === "Sequential") {
    const built = withInputShape(layers, model.config.build_input_shape);
    return {
      class_name: "Sequential",
      config: { name, layers: built.map((layer) => toLayer(layer, major, complain)) },
    };
  }
  const models = new Set(layers.filter(isContainer).map(nameOf));
  const rewritten = layers.map((layer) => ({
    ...toLayer(layer, major, complain),
    name: nameOf(layer),
    inbound_nodes: toInboundNodes(layer, { models, major, complain }),
  }));
  const { input_layers, output_layers } = model.config;
  return {
    class_name: CONTAINERS[model.class_name] ?? "Model",
    config: {
      name,
      layers: rewritten,
      input_layers: toTensorList(input_layers, { models, major, complain }),
      output_layers: toTensorList(output_layers, { models, major, complain }),
    },
  };
}

/** A Sequential that began without an input knows its input's shape from its first call. */
function withInputShape(layers: readonly LayerConfig[], shape: unknown): readonly LayerConfig[] {
  const [first, ...others] = layers;
  if (first === undefined || !Array.isArray(shape) || first.class_name === "InputLayer") return layers;
  return [{ ...first, config: { batch_input_shape: shape, ...first.config } }, ...others];
}

function toLayer(layer: LayerConfig, major: number, complain: Complain): LayerConfig {
  if (isContainer(layer)) return toContainer(layer, major, complain);
  const { class_name, module } = layer;
  const rule = Object.hasOwn(LAYER_RULES, class_name) ? LAYER_RULES[class_name] : undefined;
  if (rule === undefined || (typeof module === "string" && !LAYER_MODULES.test(module))) {
    complain(`layer "${nameOf(layer)}" is a ${class_name}${rule === undefined ? "" : ` of ${module}`}`);
    return layer;
  }
  const config = toLayerOptions(layer, rule, { major, complain });
  for (const key of rule.wraps ?? []) {
    if (config[key] !== undefined) config[key] = toLayer(config[key] as LayerConfig, major, complain);
  }
  const name = rule.isOwn === true ? ownClassName(class_name) : (rule.as ?? class_name);
  return toOwnClass({ class_name: name, config }, complain);
}

/** Renames layers that tfjs-layers has under another class, or in another form. */
function toOwnClass(layer: LayerConfig, complain: Complain): LayerConfig {
  const { class_name, config } = layer;
  if (class_name === "Activation" && config.activation === undefined) {
    return { class_name, config: { ...config, activation: "linear" } };
  }
  if (/^Conv[12]D$/.test(class_name)) return toConvolution(layer, complain);
  const [, pooling] = /^Global(Average|Max)Pooling\dD$/.exec(class_name) ?? [];
  if (pooling !== undefined) return { class_name: ownClassName(`Global${pooling}`), config };
  if (class_name === "Bidirectional") return toBidirectional(layer, complain);
  if (class_name === "GRU" && config.reset_after === true) return { class_name: "ResetAfterGRU", config };
  return layer;
}

/** tfjs-layers has no groups, and no causal padding. */
function toConvolution(
  { class_name, config: { groups = 1, ...config } }: LayerConfig,
  complain: Complain,
): LayerConfig {
  if (groups === 1 && config.padding !== "causal") return { class_name, config };
  const isPlain = config.data_format !== "channels_first";
  if (!isPlain) complain(`layer "${config.name}" (${class_name}) has groups=${groups} with channels_first`);
  return { class_name: ownClassName("GroupedConvolution"), config: { ...config, groups } };
}

/** tfjs-layers makes the second layer from the first. */
function toBidirectional({ class_name, config }: LayerConfig, complain: Complain): LayerConfig {
  const { layer, backward_layer, ...options } = config as { layer: LayerConfig; backward_layer?: LayerConfig };
  const mirrored = { ...layer.config, name: backward_layer?.config.name, go_backwards: !layer.config.go_backwards };
  if (backward_layer !== undefined && !sameOptions(mirrored, backward_layer.config)) {
    complain(`layer "${config.name}" runs two different layers forwards and backwards`);
  }
  return { class_name, config: { ...options, layer } };
}

function sameOptions(one: object, other: object): boolean {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(one) === sorted(other);
}

/** A tensor in a graph of layers: the layer, its which call, which of the call's outputs. */
type TensorKey = readonly [layer: string, call: number, output: number];

/** Facts about a graph that its rewriting needs. */
interface GraphContext {
  /** Names of the layers that are models. */
  readonly models: ReadonlySet<string>;
  /** The version of Keras. */
  readonly major: number;
  readonly complain: Complain;
}

/** The calls of a layer, each as the list of tensors that it takes, in the form of Keras 2. */
function toInboundNodes(layer: LayerConfig, context: GraphContext): unknown[] {
  const nodes = layer.inbound_nodes ?? [];
  return nodes.map((node) => (Array.isArray(node) ? checkCall(node, layer, context) : toCall(node, layer, context)));
}

/** Inputs or outputs of a model: one tensor, a list of them, or a record, whose names then are those of its layers. */
function toTensorList(keys: unknown, context: GraphContext): TensorKey[] {
  if (Array.isArray(keys) && typeof keys[0] === "string") return [shift(keys as unknown as TensorKey, context)];
  const list = typeof keys === "object" && keys !== null ? Object.values(keys) : [];
  return list.flatMap((key) => toTensorList(key, context));
}

/** Keras 2: `[[layer, call, output, options], …]`. */
function checkCall(node: readonly unknown[], layer: LayerConfig, { complain }: GraphContext): unknown {
  for (const tensor of node) {
    const options = Array.isArray(tensor) ? tensor[3] : undefined;
    if (!Array.isArray(tensor)) complain(`layer "${nameOf(layer)}" is called with something that is not a tensor`);
    else complainOfOptions(options ?? {}, layer, complain);
  }
  return node;
}

/** Keras 3: `{args, kwargs}`, with a record in place of each tensor. */
function toCall(node: unknown, layer: LayerConfig, context: GraphContext): unknown {
  const { args = [], kwargs = {} } = node as { args?: unknown[]; kwargs?: Record<string, unknown> };
  const { initial_state, ...others } = kwargs;
  const further = LAYER_RULES[layer.class_name]?.inputs ?? [];
  const named = further.map((name) => others[name]);
  const options = Object.fromEntries(Object.entries(others).filter(([name]) => !further.includes(name)));
  complainOfOptions(options, layer, context.complain);
  if (args.length > 1 + further.length)
    context.complain(`layer "${nameOf(layer)}" is called with ${args.length} arguments`);
  const tensors = tensorsIn([args, initial_state, named]);
  return tensors.map((tensor) => [...shift(tensor, context), {}]);
}

function complainOfOptions(options: object, layer: LayerConfig, complain: Complain): void {
  for (const [key, value] of Object.entries(options)) {
    if (value !== null && value !== false) complain(`layer "${nameOf(layer)}" is called with ${key}`);
  }
}

function tensorsIn(value: unknown): TensorKey[] {
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  const { class_name, config } = (value ?? {}) as Partial<LayerConfig>;
  return class_name === "__keras_tensor__" ? [config?.keras_history as TensorKey] : [];
}

/**
 * In Keras 2 and tfjs-layers the first call of a model within a model is that of its
 * own making; Keras 3 does not count it.
 */
function shift([layer, call, output]: TensorKey, { models, major }: GraphContext): TensorKey {
  return [layer, models.has(layer) && major >= 3 ? call + 1 : call, output];
}

/** Version of the options' writer, and the receiver of complaints. */
interface OptionContext {
  /** The version of Keras. */
  readonly major: number;
  readonly complain: Complain;
}

/** Every weight is set from the file, so that no time is spent on what a layer would begin to learn with. */
const NOTHING_YET = { class_name: "Zeros", config: {} };

/**
 * Dtypes of inputs that become float32 within the model. The layers of Keras compute in float32 whatever they are
 * given; tfjs-layers would keep integers in some, and take those for the dtype of all tensors that are joined.
 */
const INPUT_DTYPES = ["float32", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16"];

/** Those of layers: mixed ones have weights of float32, and compute here in float32 too, which is more exact. */
const COMPUTED = ["float32", "mixed_float16", "mixed_bfloat16"];

/** The options of one layer for tfjs-layers; those that it would interpret differently become obstacles. */
function toLayerOptions(layer: LayerConfig, rule: LayerRule, context: OptionContext): Record<string, unknown> {
  const options: Record<string, unknown> = { name: nameOf(layer) };
  const complain = (what: string) => context.complain(`layer "${nameOf(layer)}" (${layer.class_name}) ${what}`);
  for (const [key, value] of Object.entries(layer.config)) {
    const name = rule.renames?.[key] ?? (key === "batch_shape" ? "batch_input_shape" : key);
    const isTaken = rule.takes.includes(name) || rule.wraps?.includes(name) || name === "batch_input_shape";
    if (!isHarmless(key, value, rule, isTaken)) complain(`has ${key}=${JSON.stringify(value)}`);
    if (isTaken) options[name] = toValue(name, value, { ...context, complain });
    else if (/_initializer$/.test(key)) options[name] = NOTHING_YET;
  }
  checkDType(layer, complain);
  return options;
}

/** Checks that an option means the same in tfjs-layers, or nothing to a model that predicts. */
function isHarmless(key: string, value: unknown, { as, only = {} }: LayerRule, isTaken: boolean | undefined): boolean {
  if (Object.hasOwn(only, key)) return only[key]?.some((one) => JSON.stringify(one) === JSON.stringify(value)) ?? false;
  if (REFUSED_OPTIONS.includes(key)) return value === null || value === false;
  return isTaken || as !== undefined || IDLE_OPTIONS.test(key);
}

function toValue(key: string, value: unknown, { major, complain }: OptionContext): unknown {
  if (/activation$/.test(key)) return toActivation(value, major, complain);
  // Keras 2 writes the axis of a batch normalization as a list of one.
  if (key === "axis" && Array.isArray(value) && value.length === 1) return value[0];
  return value;
}

/** Keras 3 has another hard sigmoid than Keras 2 and tfjs-layers. */
function toActivation(value: unknown, major: number, complain: Complain): unknown {
  if (value === "hard_sigmoid" && major < 3) return "hardSigmoid";
  const own = typeof value === "string" ? ownActivation(value) : undefined;
  if (own !== undefined) return own;
  const known = typeof value === "string" && Object.hasOwn(ACTIVATIONS, value);
  if (!known) complain(`has the activation ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return known ? ACTIVATIONS[value] : value;
}

function checkDType({ class_name, config }: LayerConfig, complain: Complain): void {
  const { dtype = "float32" } = config as { dtype?: string | { config?: { name?: string } } | null };
  const name = typeof dtype === "object" ? dtype?.config?.name : dtype;
  const isInput = class_name === "InputLayer";
  if (isInput && !INPUT_DTYPES.includes(name ?? "")) complain(`takes ${name}`);
  if (!isInput && name !== undefined && !COMPUTED.includes(name)) complain(`computes in ${name}`);
}
