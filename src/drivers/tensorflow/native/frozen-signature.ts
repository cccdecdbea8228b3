import { ServingError } from "../../../errors.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import type { BoundTensor, ModelSignature } from "../saved-model/model-signatures.ts";
import type { TensorflowOptions } from "../tensorflow-options.ts";
import type { GraphTensor, TensorflowGraph } from "./graph.ts";

/** The signature of a graph without one: what the options `inputs` and `outputs` name, else its placeholders and what nothing else takes. Throws `failed_precondition`. */
export function createFrozenSignature(
  graph: TensorflowGraph,
  { inputs, outputs }: Pick<TensorflowOptions, "inputs" | "outputs">,
): ModelSignature {
  const given = named(graph, "inputs", inputs) ?? graph.placeholders();
  const results = named(graph, "outputs", outputs) ?? servable(graph, graph.results());
  if (results.length === 0)
    throw refused("The graph has no tensor that looks like an output; name some with -o outputs=.");
  return {
    inputs: given.map((tensor) => toBoundTensor(graph, "Input", tensor)),
    outputs: results.map((tensor) => toBoundTensor(graph, "Output", tensor)),
  };
}

function named(graph: TensorflowGraph, option: string, names: string | undefined): GraphTensor[] | undefined {
  if (names === undefined) return undefined;
  const list = names.split(",").map((name) => name.trim());
  return list.filter((name) => name !== "").map((name) => find(graph, option, name));
}

function find(graph: TensorflowGraph, option: string, name: string): GraphTensor {
  try {
    return graph.tensor(name);
  } catch (cause) {
    throw refused(`Option "${option}": ${ServingError.from(cause).message}`, cause);
  }
}

function servable(graph: TensorflowGraph, tensors: readonly GraphTensor[]): GraphTensor[] {
  return tensors.filter((tensor) => graph.dtype(tensor) !== undefined);
}

function toBoundTensor(graph: TensorflowGraph, role: string, tensor: GraphTensor): BoundTensor {
  const { name } = tensor;
  const dataType = graph.dataType(tensor);
  const dtype = graph.dtype(tensor);
  if (dtype === undefined)
    throw refused(`${role} "${name}" is of type ${dataTypeName(dataType)}, which cannot be served.`);
  const shape: TensorSpec["shape"] = graph.shape(tensor);
  return { name, dtype, ...(shape && { shape }), nativeName: name, dataType };
}

function refused(message: string, cause?: unknown): ServingError {
  return new ServingError("failed_precondition", message, cause === undefined ? {} : { cause });
}
