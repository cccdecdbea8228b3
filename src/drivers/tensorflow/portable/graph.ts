import type { Attributes } from "../saved-model/graph-def.ts";
import { Refusal } from "./refusal.ts";

/** One output of a node. */
export interface Edge {
  readonly node: string;
  readonly output: number;
}

/** An operation of a graph whose function calls are written out. */
export interface GraphNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly Edge[];
  /** Nodes that also have to run, although their results are not used. */
  readonly controls: readonly string[];
  readonly attributes: Attributes;
}

/** The nodes that some results need, by name. */
export type Graph = ReadonlyMap<string, GraphNode>;

/** The output that a graph's text names: `node:1`, or `node` for the first. */
export function parseEdge(text: string): Edge {
  const colon = text.lastIndexOf(":");
  if (colon === -1 || !/^\d+$/.test(text.slice(colon + 1))) return { node: text, output: 0 };
  return { node: text.slice(0, colon), output: Number(text.slice(colon + 1)) };
}

/** A text that is equal for equal edges. */
export function edgeKey({ node, output }: Edge): string {
  return output === 0 ? node : `${node}:${output}`;
}

/** The part of a graph that some edges need. */
export function subgraph(graph: Graph, edges: readonly Edge[]): Graph {
  const part = new Map<string, GraphNode>();
  const pending = edges.map(({ node }) => node);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const node = graph.get(name);
    if (node === undefined || part.has(name)) continue;
    part.set(name, node);
    pending.push(...neededBy(node));
  }
  return part;
}

/**
 * The nodes in an order in which each comes after what it takes; throws
 * {@link Refusal} for a cycle: a loop as TensorFlow 1 writes it.
 */
export function sortGraph(graph: Graph): GraphNode[] {
  const sorted: GraphNode[] = [];
  const states = new Map<string, "open" | "done">();
  const stack = [...graph.keys()].reverse();
  while (stack.length > 0) {
    const name = stack[stack.length - 1]!;
    const node = graph.get(name);
    if (node === undefined || states.get(name) === "done") {
      stack.pop();
    } else if (states.get(name) === "open") {
      states.set(name, "done");
      sorted.push(node);
      stack.pop();
    } else {
      states.set(name, "open");
      for (const needed of neededBy(node)) {
        if (states.get(needed) === "open") throw new Refusal(`a loop of TensorFlow 1 (through "${needed}")`);
        if (!states.has(needed)) stack.push(needed);
      }
    }
  }
  return sorted;
}

function neededBy({ inputs, controls }: GraphNode): readonly string[] {
  return [...inputs.map(({ node }) => node), ...controls];
}
