import * as tf from "@tensorflow/tfjs-core";
import { type Edge, edgeKey, type GraphNode } from "./graph.ts";
import type { Kernel } from "./op-node.ts";
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
  /** Edges where the arguments come in. */
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
