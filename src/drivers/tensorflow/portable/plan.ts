import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../errors.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import { FLOATS, TYPE } from "./element-types.ts";
import { type Edge, edgeKey, type Graph, type GraphNode, sortGraph } from "./graph.ts";
import { KERNELS } from "./kernels/kernel-table.ts";
import { type Kernel, OpNode, type Surroundings } from "./op-node.ts";
import { Refusal } from "./refusal.ts";
import type { Value } from "./values.ts";

/** One node to compute, ready to run. */
export interface Step {
  readonly node: GraphNode;
  readonly kernel: Kernel;
  /** Its inputs, past the nodes that only let values pass. */
  readonly inputs: readonly Edge[];
}

/** Steps to compute, in order, and the values that are known before. */
export interface Plan {
  readonly steps: readonly Step[];
  /** Values that do not depend on a request, by {@link edgeKey}. */
  readonly constants: ReadonlyMap<string, Value>;
  /** Edges at which the arguments come in. */
  readonly inputs: readonly Edge[];
  readonly outputs: readonly Edge[];
}

/** The plan without constants that no step takes; their memory is freed. */
export function dropUnusedConstants(plan: Plan): Plan {
  const used = new Set([...plan.steps.flatMap(({ inputs }) => inputs), ...plan.outputs].map(edgeKey));
  const kept = new Map<string, Value>();
  for (const [key, value] of plan.constants) {
    if (used.has(key)) kept.set(key, value);
    else if (value instanceof tf.Tensor) value.dispose();
  }
  return { ...plan, constants: kept };
}

/** Operations whose only output is their first input. */
const PASSING: ReadonlySet<string> = new Set(["Identity", "Snapshot", "StopGradient", "PreventGradient"]);
/** Operations whose effect lasts beyond a request. */
const WRITING =
  /^(Assign|Resource(Scatter|Apply|Sparse)|Scatter(Update|Add|Sub|Nd(Update|Add))|LookupTable(Insert|Import|Remove)|Save|Write|Queue|Stack|Barrier)/;

/** Edges of arguments and of results. */
export interface PlanEnds {
  readonly inputs: readonly Edge[];
  readonly outputs: readonly Edge[];
}

/**
 * Turns a graph into steps: what does not depend on a request is computed now. Reasons why nodes cannot be computed are
 * added to `reasons`; then the plan is not to be run.
 */
export function makePlan(
  graph: Graph,
  ends: PlanEnds,
  surroundings: Surroundings & { readonly reasons: Set<string> },
): Plan {
  const planner = new Planner(surroundings);
  for (const node of sortGraph(graph)) planner.add(node);
  const outputs = ends.outputs.map((edge) => planner.resolve(edge));
  return dropUnusedConstants({ steps: planner.steps, constants: planner.constants, inputs: ends.inputs, outputs });
}

class Planner {
  readonly steps: Step[] = [];
  readonly constants = new Map<string, Value>();
  readonly #aliases = new Map<string, Edge>();
  readonly #surroundings: Surroundings & { readonly reasons: Set<string> };

  constructor(surroundings: Surroundings & { readonly reasons: Set<string> }) {
    this.#surroundings = surroundings;
  }

  resolve(edge: Edge): Edge {
    return this.#aliases.get(edgeKey(edge)) ?? edge;
  }

  add(node: GraphNode): void {
    if (node.op === "Arg" || node.op === "NoOp") return;
    const inputs = node.inputs.map((edge) => this.resolve(edge));
    if (PASSING.has(node.op)) {
      this.#aliases.set(edgeKey({ node: node.name, output: 0 }), inputs[0]!);
      return;
    }
    const kernel = this.#kernelOf(node);
    if (kernel !== undefined && !this.#fold(node, kernel, inputs)) this.steps.push({ node, kernel, inputs });
  }

  #kernelOf(node: GraphNode): Kernel | undefined {
    try {
      const factory = Object.hasOwn(KERNELS, node.op) ? KERNELS[node.op] : undefined;
      if (factory === undefined) throw new Refusal(unknownReason(node.op));
      return factory(new OpNode(node, this.#surroundings));
    } catch (reason) {
      // A constant or a variable may hold numbers that cannot be carried.
      const isBeyond = reason instanceof ServingError && reason.code === "invalid_argument";
      if (!(reason instanceof Refusal || isBeyond)) throw reason;
      this.#surroundings.reasons.add(reason.message);
      return undefined;
    }
  }

  /** Computes a node now, and reports if that worked. One that fails is left to fail in each request. */
  #fold(node: GraphNode, kernel: Kernel, inputs: readonly Edge[]): boolean {
    const values = inputs.map((edge) => this.constants.get(edgeKey(edge)));
    // A loop might never end.
    if (/While$/.test(node.op) || !values.every((value) => value !== undefined)) return false;
    try {
      const results = tf.tidy(() => [kernel(...values)].flat() as never) as unknown as Value[];
      if (results.length === 0) return true;
      for (const [output, value] of results.entries()) this.constants.set(edgeKey({ node: node.name, output }), value);
      return true;
    } catch {
      return false;
    }
  }
}

function unknownReason(op: string): string {
  return WRITING.test(op) ? `${op} changes what the model keeps between requests` : `${op} is not known`;
}

/** Types among a graph's attributes that are computed with other precision than TensorFlow's, by name. */
export function inexactTypes(graph: Graph): Set<string> {
  const names = new Set<string>();
  for (const { attributes } of graph.values()) {
    const type = attributes.T?.value;
    if (type?.case === "type" && type.value !== TYPE.float && FLOATS.has(type.value))
      names.add(dataTypeName(type.value));
  }
  return names;
}
