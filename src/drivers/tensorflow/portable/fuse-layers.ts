import * as tf from "@tensorflow/tfjs-core";
import { TYPE } from "./element-types.ts";
import { type Edge, edgeKey, type GraphNode } from "./graph.ts";
import { readWindow } from "./kernels/nn.ts";
import { type Kernel, NO_SURROUNDINGS, OpNode } from "./op-node.ts";
import { dropUnusedConstants, type Plan, type Step } from "./plan.ts";
import { asTensor, type Value } from "./values.ts";

/**
 * Takes what follows convolutions and matrix products into them: scales of a batch normalisation into the weights,
 * summands into the bias, an activation into the kernel. Half of a network's time goes there.
 */
export function fuseLayers(plan: Plan): Plan {
  const fusion = new Fusion(plan);
  for (const step of plan.steps) fusion.visit(step);
  return dropUnusedConstants({ ...plan, steps: fusion.steps, constants: fusion.constants });
}

class Fusion {
  readonly constants: Map<string, Value>;
  readonly #plan: Plan;
  /** The only step that takes a value; undefined if there are others. */
  readonly #takers = new Map<string, Step | undefined>();
  readonly #fused = new Map<Step, Step>();
  readonly #absorbed = new Set<Step>();

  constructor(plan: Plan) {
    this.#plan = plan;
    this.constants = new Map(plan.constants);
    for (const step of plan.steps) {
      for (const key of step.inputs.map(edgeKey)) this.#takers.set(key, this.#takers.has(key) ? undefined : step);
    }
    for (const output of plan.outputs) this.#takers.set(edgeKey(output), undefined);
  }

  /** Steps that are left to compute: a fused layer has the place of the last of its nodes. */
  get steps(): Step[] {
    return this.#plan.steps.filter((step) => !this.#absorbed.has(step)).map((step) => this.#fused.get(step) ?? step);
  }

  visit(step: Step): void {
    const weights = this.#constant(step.inputs[1]);
    const start = weights && startLayer(step.node, weights);
    if (start === undefined) return;
    const path = [step];
    let layer = start;
    const [fusedWeights, bias] = tf.tidy(() => {
      layer = this.#extend(start, path);
      return layer === start ? [] : [tf.clone(layer.weights), tf.clone(biasOf(layer))];
    });
    if (fusedWeights && bias) this.#replace(path, layer, [fusedWeights, bias]);
  }

  #replace(path: readonly Step[], layer: FusedLayer, values: readonly tf.Tensor[]): void {
    const last = path.at(-1)!;
    const { name } = last.node;
    const constants = values.map((value, index) => {
      // Names of the graph's own nodes have no spaces.
      const edge: Edge = { node: `${name} fused ${index}`, output: 0 };
      this.constants.set(edgeKey(edge), value);
      return edge;
    });
    const inputs = [path[0]!.inputs[0]!, ...constants];
    this.#fused.set(last, { node: { ...layer.node, name }, kernel: layerKernel(layer), inputs });
    for (const step of path.slice(0, -1)) this.#absorbed.add(step);
  }

  /** Fuses further nodes as long as no other node uses the values between them; `path` gets each. */
  #extend(start: FusedLayer, path: Step[]): FusedLayer {
    let layer = start;
    for (;;) {
      const result = { node: path.at(-1)!.node.name, output: 0 };
      const follower = this.#takers.get(edgeKey(result));
      if (follower === undefined || this.#givesMore(follower)) return layer;
      const operands = follower.inputs.map((edge) => this.#constant(edge));
      const longer = extendLayer(layer, follower.node, operands);
      if (longer === undefined) return layer;
      layer = longer;
      path.push(follower);
    }
  }
  /** Checks if a node's other outputs are taken: a batch normalisation has some. */
  #givesMore({ node: { name } }: Step): boolean {
    return [1, 2, 3, 4, 5].some((output) => this.#takers.has(edgeKey({ node: name, output })));
  }

  #constant(edge: Edge | undefined): tf.Tensor | undefined {
    const value = edge && this.constants.get(edgeKey(edge));
    return value instanceof tf.Tensor ? value : undefined;
  }
}

/** Functions that follow a layer and that WebAssembly computes along with it. */
const ACTIVATIONS = { Relu: "relu", Relu6: "relu6", Elu: "elu" } as const;

/** A convolution or matrix product with constant weights, and what was taken into it of what follows. */
interface FusedLayer {
  readonly node: GraphNode;
  /** One number for each output channel, once something was added. */
  readonly bias?: tf.Tensor1D;
  readonly weights: tf.Tensor;
  readonly activation?: (typeof ACTIVATIONS)[keyof typeof ACTIVATIONS];
}

/** Constants by input of a node that follows; undefined for the input that is the layer itself. */
type Operands = readonly (tf.Tensor | undefined)[];

/** A layer that others may be taken into; undefined for other nodes. */
function startLayer(node: GraphNode, weights: tf.Tensor): FusedLayer | undefined {
  const isLayer = node.op === "Conv2D" || node.op === "DepthwiseConv2dNative" || node.op === "MatMul";
  const type = node.attributes.T?.value;
  // WebAssembly adds a bias to transposed products in the wrong places.
  if (isSet(node, "transpose_a") || isSet(node, "transpose_b")) return undefined;
  const isPlain = isLayer && type?.case === "type" && type.value === TYPE.float && weights.size > 0;
  return isPlain ? { node, weights } : undefined;
}

/** The layer with one node more taken into it; undefined if that cannot be. Runs within tf.tidy. */
function extendLayer(layer: FusedLayer, { op, attributes }: GraphNode, operands: Operands): FusedLayer | undefined {
  if (layer.activation !== undefined) return undefined;
  if (op in ACTIVATIONS) return { ...layer, activation: ACTIVATIONS[op as keyof typeof ACTIVATIONS] };
  if (/^FusedBatchNorm/.test(op)) return normalise(layer, attributes, operands);
  const channels = channelCount(layer);
  const [operand] = operands.filter((value) => value !== undefined);
  const vector = operand && toChannels(operand, channels, layer.node.op === "MatMul" ? 2 : 4);
  if (vector === undefined) return undefined;
  if (op === "Mul") return scale(layer, vector);
  if (op === "Add" || op === "AddV2" || op === "BiasAdd") return shift(layer, vector);
  return op === "Sub" && operands[0] === undefined ? shift(layer, tf.neg(vector)) : undefined;
}

/** Computes the layer with all that was taken into it. */
function layerKernel({ node, activation }: FusedLayer): Kernel {
  const view = new OpNode(node, NO_SURROUNDINGS);
  const common = activation === undefined ? {} : { activation };
  if (node.op === "MatMul") {
    return (x, weights, bias) => {
      const [a, b, vector] = [asTensor(x), asTensor(weights), asTensor(bias)];
      return a.size === 0 ? tf.zeros([a.shape[0]!, vector.size]) : tf.fused.matMul({ a, b, bias: vector, ...common });
    };
  }
  const { strides, dilations, layOn } = readWindow(view);
  const compute = (node.op === "Conv2D" ? tf.fused.conv2d : tf.fused.depthwiseConv2d) as typeof tf.fused.conv2d;
  return (image, weights, bias) => {
    const [x, filter] = [asTensor(image), asTensor(weights)] as [tf.Tensor4D, tf.Tensor4D];
    const { paddings, outer, isEmpty } = layOn(x.shape, filter.shape);
    if (isEmpty) return tf.zeros([...outer, asTensor(bias).size]);
    // The declared type lacks what the kernels take.
    const pad = paddings as unknown as "valid";
    return compute({ x, filter, strides, pad, dataFormat: "NHWC", dilations, bias: asTensor(bias), ...common });
  };
}

function isSet({ attributes }: GraphNode, flag: string): boolean {
  return Object.hasOwn(attributes, flag) && attributes[flag]?.value.value === true;
}

/** Zeros for a layer that nothing is added to. */
function biasOf(layer: FusedLayer): tf.Tensor1D {
  return layer.bias ?? tf.zeros([channelCount(layer)]);
}

function channelCount({ node, weights }: FusedLayer): number {
  const [, , inputs = 0, outputs = 0] = weights.shape;
  if (node.op === "Conv2D") return outputs;
  if (node.op === "DepthwiseConv2dNative") return inputs * outputs;
  return weights.shape[1]!;
}

/** A constant that broadcasts along the channels only. */
function toChannels(operand: tf.Tensor, channels: number, rank: number): tf.Tensor1D | undefined {
  const isVector = operand.size === channels && operand.shape.at(-1) === channels && operand.rank <= rank;
  return isVector && operand.dtype === "float32" ? tf.reshape(operand, [channels]) : undefined;
}

function shift(layer: FusedLayer, vector: tf.Tensor1D): FusedLayer {
  return { ...layer, bias: layer.bias === undefined ? vector : tf.add(layer.bias, vector) };
}

function scale(layer: FusedLayer, vector: tf.Tensor1D): FusedLayer | undefined {
  const { node, weights, bias } = layer;
  if (node.op === "MatMul") return undefined;
  const factors = node.op === "Conv2D" ? vector : tf.reshape(vector, weights.shape.slice(2));
  return { ...layer, weights: tf.mul(weights, factors), ...(bias && { bias: tf.mul(bias, vector) as tf.Tensor1D }) };
}

function normalise(layer: FusedLayer, attributes: GraphNode["attributes"], operands: Operands): FusedLayer | undefined {
  const [, factor, offset, mean, variance] = operands;
  if (!factor || !offset || !mean || !variance || attributes.is_training?.value.value !== false) return undefined;
  const epsilon = attributes.epsilon?.value.case === "f" ? attributes.epsilon.value.value : 1e-4;
  const vector = tf.div(factor, tf.sqrt(tf.add(variance, epsilon))) as tf.Tensor1D;
  const scaled = scale(layer, vector);
  return scaled && shift(scaled, tf.sub(offset, tf.mul(mean, vector)) as tf.Tensor1D);
}
