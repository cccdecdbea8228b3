import type { Tensor, Tensors } from "../../../../src/tensor/tensor.ts";
import { createTensors } from "../../../../src/tensor/tensor.ts";
import { Random } from "../../../grpc/random.ts";
import { ARRAY_TRIALS } from "./array-trials.ts";
import { ELEMENT_TRIALS } from "./element-trials.ts";
import { constant, type NodeJson, placeholder, type } from "./graph-writer.ts";
import { LAYER_TRIALS } from "./layer-trials.ts";
import { type OpCase, type OpTrials, plain } from "./op-cases.ts";
import { TEXT_TRIALS } from "./text-trials.ts";

/** Every operation that is tried. */
export const TRIALS: OpTrials = { ...ELEMENT_TRIALS, ...ARRAY_TRIALS, ...LAYER_TRIALS, ...TEXT_TRIALS };

/** A small graph around one operation. */
export interface RandomGraph {
  readonly op: string;
  readonly dtype: string;
  readonly nodes: readonly NodeJson[];
  readonly inputs: Tensors;
  /** Names of the tensors that are looked at. */
  readonly outputs: readonly string[];
}

/** `count` graphs, each operation as often as any other, its dtypes in turn. */
export function makeRandomGraphs(count: number, seed: number): RandomGraph[] {
  const random = new Random(seed);
  const ops = Object.keys(TRIALS);
  return Array.from({ length: count }, (_, index) => {
    const op = ops[index % ops.length] as string;
    return makeGraph(random, op, Math.floor(index / ops.length));
  });
}

function makeGraph(random: Random, op: string, round: number): RandomGraph {
  const { dtypes, make } = TRIALS[op] as OpTrials[string];
  const dtype = dtypes[round % dtypes.length] as Tensor["dtype"];
  const made = make(random, dtype);
  const nodes: NodeJson[] = [];
  const fed: [string, Tensor][] = [];
  const input = made.inputs.map((tensor, index) => {
    const name = `in${index}`;
    const isFed = random.below(index === 0 ? 4 : 2) !== 0;
    nodes.push(isFed ? placeholder(name, tensor) : constant(name, tensor));
    if (isFed) fed.push([`${name}:0`, tensor]);
    return through(random, { name, tensor, nodes });
  });
  nodes.push({ name: "op", op, input, attr: made.attr });
  const outputs = Array.from({ length: made.outputs ?? 1 }, (_, output) => `op:${output}`);
  const channels = dtype === "float32" ? channelsOf(op, made.inputs[1], made.attr) : undefined;
  // Without the layer's own output among them, nothing hinders fusing.
  if (channels !== undefined) outputs.splice(0, random.below(4) === 0 ? 0 : 1, `${follow(random, channels, nodes)}:0`);
  return { op, dtype, nodes, inputs: createTensors(fed), outputs };
}

/** Number of channels that a layer with such weights gives; undefined for an operation that is not a layer. */
function channelsOf(op: string, weights: Tensor | undefined, attr: OpCase["attr"]): number | undefined {
  const shape = weights?.shape ?? [];
  if (op === "Conv2D") return shape[3];
  if (op === "DepthwiseConv2dNative") return (shape[2] as number) * (shape[3] as number);
  const transposes = (attr.transpose_b as { b?: boolean } | undefined)?.b === true;
  // TensorFlow's process ends where it fuses a product of matrices without elements.
  return op === "MatMul" && !shape.includes(0) ? shape[transposes ? 0 : 1] : undefined;
}

/** Adds nodes that often follow a layer, and are fused with it; returns the last one. */
function follow(random: Random, channels: number, nodes: NodeJson[]): string {
  let last = "op";
  // Where others take what lies between, nothing may be fused.
  for (let step = 0; step < 1 + random.below(4); step++) {
    const op = random.pick(["Mul", "AddV2", "BiasAdd", "Sub", "Relu", "Relu6", "Elu", "Add"]);
    const name = `follower${step}`;
    const vector = plain(random, "float32", [channels]);
    const isActivation = /lu/.test(op);
    if (!isActivation) nodes.push(constant(`${name}_vector`, vector));
    const operands = isActivation ? [last] : [last, `${name}_vector`];
    const turned = op !== "BiasAdd" && random.below(3) === 0 ? operands.reverse() : operands;
    nodes.push({ name, op, input: turned, attr: { T: type("float32") } });
    last = name;
  }
  return last;
}

/** Now and then something stands between a value and the operation. */
function through(random: Random, { name, tensor, nodes }: { name: string; tensor: Tensor; nodes: NodeJson[] }): string {
  if (random.below(3) !== 0) return name;
  const between = `${name}_between`;
  const twice = `${name}_twice`;
  nodes.push({ name: between, op: "Identity", input: [name], attr: { T: type(tensor.dtype) } });
  nodes.push({
    name: twice,
    op: "IdentityN",
    input: [between],
    attr: { T: { list: { type: [(type(tensor.dtype) as { type: string }).type] } } },
  });
  return twice;
}
