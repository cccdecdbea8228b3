import { failedPrecondition, ServingError } from "../../../errors.ts";
import type { TensorSpec } from "../../../tensor/signature/signature.ts";
import type { TensorflowOptions } from "../engine.ts";
import { findConditionalNodes } from "../saved-model/conditional-nodes.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import { loadFrozenGraph } from "../saved-model/load-saved-model.ts";
import type { BoundTensor, ModelSignature } from "../saved-model/model-signatures.ts";
import type { GraphTensor, TensorflowGraph } from "./graph.ts";

/** Operations that a node behind may have no value of. */
const SWITCHES = ["Switch", "RefSwitch"];
const VARIABLES = ["Variable", "VariableV2", "VarHandleOp"];
const CONDITIONAL = [...SWITCHES, ...VARIABLES, "Enter", "RefEnter", "Restore", "RestoreV2", "SaveV2", "Save"];

/**
 * The signature of a graph without one: the options `inputs` and `outputs`, else its placeholders and unused tensors.
 * Throws `failed_precondition`.
 */
export function createFrozenSignature(
  graph: TensorflowGraph,
  { inputs, outputs, path }: Pick<TensorflowOptions, "inputs" | "outputs"> & { readonly path: string },
): ModelSignature {
  const given = named(graph, "inputs", inputs) ?? graph.placeholders();
  const results = named(graph, "outputs", outputs) ?? servable(graph, lastingResults(graph, path));
  if (results.length === 0) throw failedPrecondition(noOutput(graph));
  return {
    inputs: given.map((tensor) => toBoundTensor(graph, "Input", tensor)),
    outputs: results.map((tensor) => toBoundTensor(graph, "Output", tensor)),
  };
}

function noOutput(graph: TensorflowGraph): string {
  if (!graph.hasAny(VARIABLES)) return "The graph has no tensor that looks like an output; name some with -o outputs=.";
  const advice = "freeze it, serve a SavedModel of it, or name outputs that need no variable with -o outputs=.";
  return `The graph is not frozen: all its outputs need variables, whose values are not in the file; ${advice}`;
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
    throw failedPrecondition(`Option "${option}": ${ServingError.from(cause).message}`, cause);
  }
}

/** Those that every run can give. The file is read once more only if some may not. */
function lastingResults(graph: TensorflowGraph, path: string): GraphTensor[] {
  const results = graph.results();
  if (!graph.hasAny(CONDITIONAL)) return results;
  const conditional = findConditionalNodes(loadFrozenGraph(path).node);
  return results.filter(({ name }) => !conditional.has(name.replace(/:\d+$/, "")));
}

function servable(graph: TensorflowGraph, tensors: readonly GraphTensor[]): GraphTensor[] {
  return tensors.filter((tensor) => graph.dtype(tensor) !== undefined);
}

function toBoundTensor(graph: TensorflowGraph, role: string, tensor: GraphTensor): BoundTensor {
  const { name } = tensor;
  const dataType = graph.dataType(tensor);
  const dtype = graph.dtype(tensor);
  if (dtype === undefined)
    throw failedPrecondition(`${role} "${name}" is of type ${dataTypeName(dataType)}, which cannot be served.`);
  const shape: TensorSpec["shape"] = graph.shape(tensor);
  return { name, dtype, ...(shape && { shape }), nativeName: name, dataType };
}
