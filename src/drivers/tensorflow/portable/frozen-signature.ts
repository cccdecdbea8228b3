import { failedPrecondition } from "../../../errors.ts";
import { didYouMean } from "../../../text/nearest.ts";
import { findConditionalNodes } from "../saved-model/conditional-nodes.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import type { GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import type { BoundTensor, ModelSignature } from "../saved-model/model-signatures.ts";
import { fromTensorShape } from "../saved-model/tensor-proto.ts";
import { type Edge, parseEdge } from "./graph.ts";
import { outputType } from "./output-types.ts";
import { refusedModel } from "./refusal.ts";

/** The options that name a frozen graph's tensors. */
export interface FrozenEnds {
  readonly inputs?: string;
  readonly outputs?: string;
}

/**
 * A frozen graph's signature: the tensors that options name, else its placeholders and what nothing else takes.
 * Throws `failed_precondition` for a name that the graph does not have, or of a type that cannot be served.
 */
export function toFrozenSignature(graph: GraphDef, ends: FrozenEnds): ModelSignature {
  const nodes = new Map(graph.node.map((node) => [node.name, node]));
  const inputs = parseNames(ends.inputs) ?? graph.node.filter(({ op }) => op === "Placeholder").map(({ name }) => name);
  const outputs = parseNames(ends.outputs) ?? leavesOf(graph);
  if (outputs.length === 0)
    throw failedPrecondition("The graph has no node whose result nothing else takes; name outputs with -o outputs=.");
  return {
    inputs: inputs.map((name) => toBoundTensor(name, nodes, "inputs")),
    outputs: outputs.map((name) => toBoundTensor(name, nodes, "outputs")),
  };
}

function parseNames(text: string | undefined): string[] | undefined {
  const names = text?.split(",").map((name) => name.trim());
  return names?.filter((name) => name !== "");
}

function leavesOf(graph: GraphDef): string[] {
  const taken = new Set(
    graph.node.flatMap(({ input }) => input.map((text) => parseEdge(text.replace(/^\^/, "")).node)),
  );
  const conditional = findConditionalNodes(graph.node);
  return graph.node
    .filter(({ name, op, input }) => !taken.has(name) && input.length > 0 && !/^(NoOp|Assert)$/.test(op))
    .map(({ name }) => name)
    .filter((name) => !conditional.has(name));
}

/** Its name as it was written: `x:0` and `x` are one tensor and two names. */
function toBoundTensor(name: string, nodes: ReadonlyMap<string, NodeDef>, option: string): BoundTensor {
  const edge: Edge = parseEdge(name);
  const node = nodes.get(edge.node);
  if (node === undefined)
    throw failedPrecondition(
      `The graph has no tensor "${name}", which -o ${option}= names.${didYouMean(edge.node, nodes.keys())}`,
    );
  const dataType = outputType(node, edge.output);
  if (dataType === undefined)
    throw refusedModel(`The portable engine cannot load this model: ${node.op} ("${name}") is not known.`);
  const dtype = toDType(dataType);
  if (dtype === undefined)
    throw failedPrecondition(
      `The tensor "${name}" (${node.op}) is of type ${dataTypeName(dataType)}, which cannot be served.`,
    );
  const shape = /^Placeholder/.test(node.op) ? placeholderShape(node) : undefined;
  return { name, dtype, ...(shape && { shape }), nativeName: `${edge.node}:${edge.output}`, dataType };
}

function placeholderShape({ attr }: NodeDef): readonly number[] | undefined {
  const shape = Object.hasOwn(attr, "shape") ? attr.shape?.value : undefined;
  return shape?.case === "shape" ? fromTensorShape(shape.value) : undefined;
}
