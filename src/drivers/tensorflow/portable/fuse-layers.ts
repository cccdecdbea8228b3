import * as tf from "@tensorflow/tfjs-core";
import { biasOf, extendLayer, type FusedLayer, layerKernel, startLayer } from "./fused-layer.ts";
import { type Edge, edgeKey } from "./graph.ts";
import { dropUnusedConstants, type Plan, type Step } from "./plan.ts";
import type { Value } from "./values.ts";

/**
 * Takes what follows convolutions and matrix products into them: scales of a batch normalisation into the weights,
 * what is added into the bias, an activation into the kernel. Half of a network's time goes there.
 */
export function fuseLayers(plan: Plan): Plan {
  const fusion = new Fusion(plan);
  for (const step of plan.steps) fusion.visit(step);
  return dropUnusedConstants({ ...plan, steps: fusion.steps, constants: fusion.constants });
}

class Fusion {
  readonly constants: Map<string, Value>;
  readonly #plan: Plan;
  /** The only step that takes a value; undefined where there are others. */
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
