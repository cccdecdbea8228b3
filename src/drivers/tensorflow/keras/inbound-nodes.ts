import { type LayerConfig, nameOf } from "./keras-config.ts";
import type { Complain } from "./layer-options.ts";
import { LAYER_RULES } from "./layer-rules.ts";

/** A tensor in a graph of layers: the layer, its which call, which of the call's outputs. */
type TensorKey = readonly [layer: string, call: number, output: number];

/** Facts about a graph that its rewriting needs. */
export interface GraphContext {
  /** Names of the layers that are models. */
  readonly models: ReadonlySet<string>;
  /** The version of Keras. */
  readonly major: number;
  readonly complain: Complain;
}

/** The calls of a layer, each as the list of tensors that it takes, in the form of Keras 2. */
export function toInboundNodes(layer: LayerConfig, context: GraphContext): unknown[] {
  const nodes = layer.inbound_nodes ?? [];
  return nodes.map((node) => (Array.isArray(node) ? checkCall(node, layer, context) : toCall(node, layer, context)));
}

/** Inputs or outputs of a model: one tensor, a list of them, or a record, whose names then are those of its layers. */
export function toTensorList(keys: unknown, context: GraphContext): TensorKey[] {
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
