import type { FunctionDef } from "../saved-model/graph-def.ts";
import type { Edge } from "./graph.ts";
import { KERNELS } from "./kernels/kernel-table.ts";
import { hasSeveralOutputs, outputPosition } from "./output-positions.ts";
import { Refusal } from "./refusal.ts";

/** Turns a text of a node's inputs into the edge that it means. */
export type ReadEdge = (text: string) => Edge;

/** Reads `node:output:index`, as a body writes it. */
export function createOutputReader({ nodeDef }: FunctionDef): (text: string, prefix: string) => Edge {
  const nodes = new Map(nodeDef.map((node) => [node.name, node]));
  const outputs = new Map<string, string>();
  return (text, prefix) => {
    const [name = "", output = "", index = "0"] = text.split(":");
    const node = nodes.get(name);
    if (node === undefined) throw new Refusal(`the graph has no node "${name}"`);
    const position = outputPosition(node, output, Number(index));
    // An operation that has one output for all we know must not be asked for two; one that
    // is not known is refused later.
    const isSingle = Object.hasOwn(KERNELS, node.op) && !hasSeveralOutputs(node.op);
    const isMixed = isSingle && (outputs.get(name) ?? output) !== output;
    outputs.set(name, output);
    if (position === undefined || isMixed) throw new Refusal(`${node.op} ("${name}") with the output "${output}"`);
    return { node: prefix + name, output: position };
  };
}

/** Edges that give each of a function's results. */
export function resultsOf({ signature, ret }: FunctionDef, readEdge: ReadEdge): Edge[] {
  return (signature?.outputArg ?? []).map(({ name }) => readEdge(ret[name] ?? name));
}

/** The nodes of a body that have to run whether or not a result needs them. */
export function effectsOf({ controlRet }: FunctionDef, prefix: string): string[] {
  return Object.values(controlRet).map((node) => prefix + node);
}
