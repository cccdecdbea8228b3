import { invalidArgument } from "../../../errors.ts";
import type { Dimension } from "../../../signature/signature.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { toTensors, type Values } from "../../../tensor/plain-value.ts";
import { createRecord } from "../../../tensor/record.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import { didYouMean } from "../../../text/nearest.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import type { GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import type { ModelSignature } from "../saved-model/model-signatures.ts";
import { parseEdge } from "./graph.ts";
import { outputType } from "./output-types.ts";

/** Runs any part of a graph. */
export type RunGraph = (
  fetches: readonly { readonly name: string; readonly dtype: DType }[],
  feeds: readonly { readonly name: string; readonly tensor: Tensor }[],
) => Tensor[];

/** The third argument of hooks, as the native engine gives it too. */
export function createHookArgs(
  graph: GraphDef,
  signature: ModelSignature | undefined,
  run: RunGraph,
): Readonly<Record<string, unknown>> {
  const shapes = createRecord<readonly Dimension[]>();
  for (const { name, shape = [] } of signature?.inputs ?? []) shapes[name] = shape;
  return {
    driver: "tensorflow",
    graph: { operations: async () => graph.node.map(toOperation) },
    sess: createSessionHandle(graph, run),
    model_inputs: shapes,
    model_outputs: (signature?.outputs ?? []).map(({ name }) => name),
  };
}

function toOperation(node: NodeDef) {
  const type = outputType(node, 0);
  const dtype = type === undefined ? undefined : (toDType(type) ?? dataTypeName(type));
  return { name: node.name, type: node.op, outputs: dtype === undefined ? [] : [{ name: `${node.name}:0`, dtype }] };
}

function createSessionHandle(graph: GraphDef, run: RunGraph) {
  const nodes = new Map(graph.node.map((node) => [node.name, node]));
  const dtypeOf = (name: string) => tensorType(nodes, name);
  return {
    async run(fetches: string | readonly string[], feeds: Values = {}): Promise<Tensor | Tensor[]> {
      const names = typeof fetches === "string" ? [fetches] : fetches;
      const tensors = toTensors(feeds, dtypeOf);
      const given = Object.entries(tensors).map(([name, tensor]) => ({ name, tensor }));
      const results = run(
        names.map((name) => ({ name, dtype: dtypeOf(name) })),
        given,
      );
      return typeof fetches === "string" ? results[0]! : results;
    },
  };
}

function tensorType(nodes: ReadonlyMap<string, NodeDef>, name: string): DType {
  const { node, output } = parseEdge(name);
  const definition = nodes.get(node);
  if (definition === undefined)
    throw invalidArgument(`The graph has no tensor "${name}".${didYouMean(node, nodes.keys())}`);
  const dtype = toDType(outputType(definition, output) ?? 0);
  if (dtype === undefined) throw invalidArgument(`The type of "${name}" (${definition.op}) cannot be served.`);
  return dtype;
}
