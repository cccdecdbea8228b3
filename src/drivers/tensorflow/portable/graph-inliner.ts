import type { Attribute, Attributes, FunctionDef, GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import { type Edge, type Graph, type GraphNode, parseEdge } from "./graph.ts";
import { KERNELS } from "./kernels/kernel-table.ts";
import { Refusal } from "./refusal.ts";

/** The functions of a graph, by name. */
export type FunctionLibrary = ReadonlyMap<string, FunctionDef>;

/** A node in its place: in the graph itself, or in one call's copy of a function's body. */
interface Source {
  readonly definition: NodeDef;
  readonly scope: Scope;
}

interface Scope {
  readonly prefix: string;
  readonly depth: number;
  readonly readEdge: ReadEdge;
}

/** Inputs and outputs of a function. */
interface FunctionEnds {
  readonly inputs: readonly Edge[];
  readonly results: readonly Edge[];
  /** Nodes that have to run besides. */
  readonly effects: readonly string[];
}

const CALLS: ReadonlySet<string> = new Set(["PartitionedCall", "StatefulPartitionedCall"]);
const NO_ATTRIBUTES: Attributes = {};
/** Deeper calls are a function that calls itself. */
const MAX_DEPTH = 100;
/** More operations are functions that call each other again and again. */
const MAX_NODES = 1_000_000;

/**
 * Collects the nodes that results need, through data and through control edges, and writes out the functions that they
 * call on the way. What nothing needs is never looked at.
 */
export class GraphInliner {
  readonly #library: FunctionLibrary;
  readonly #maxNodes: number;
  readonly #sources = new Map<string, Source>();
  readonly #nodes = new Map<string, GraphNode>();
  readonly #pending: string[] = [];

  constructor(library: FunctionLibrary, maxNodes = MAX_NODES) {
    this.#library = library;
    this.#maxNodes = maxNodes;
  }

  /** Nodes that were reached so far. */
  get nodes(): Graph {
    return this.#nodes;
  }

  /** Makes a graph's nodes known. */
  addGraph(graph: Pick<GraphDef, "node">): void {
    const scope: Scope = { prefix: "", depth: 0, readEdge: parseEdge };
    for (const definition of graph.node) this.#sources.set(definition.name, { definition, scope });
  }

  /** Makes a function's body known, its arguments as nodes of op `Arg`. */
  addFunction(name: string): FunctionEnds {
    const body = this.#function(name);
    const prefix = `function ${name}/`;
    const args = (body.signature?.inputArg ?? []).map(({ name: arg }, index) => argument(prefix + arg, index));
    for (const node of args) this.#nodes.set(node.name, node);
    const edges = args.map(({ name: node }) => ({ node, output: 0 }));
    const readEdge = this.#enter(body, { prefix, args: edges, depth: 0 });
    return { inputs: edges, results: resultsOf(body, readEdge), effects: effectsOf(body, prefix) };
  }

  /** Makes an edge come from outside: what gives it in the graph is not needed. */
  addInput(edge: Edge): void {
    this.#nodes.set(edge.node, argument(edge.node, 0));
  }

  /**
   * Collects a result and all it needs; gives the edge that stands for it, which is
   * another if a call gives it. Throws {@link Refusal}.
   */
  reach(edge: Edge): Edge {
    const resolved = this.#resolve(edge);
    this.reachNode(resolved.node);
    return resolved;
  }

  /** Collects a node, for its effect, and all it needs. */
  reachNode(name: string): void {
    this.#pending.push(name);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#visit(next);
  }

  #visit(name: string): void {
    if (this.#nodes.has(name)) return;
    const source = this.#sources.get(name);
    if (source === undefined) throw new Refusal(`the graph has no node "${name}"`);
    const { definition, scope } = source;
    const inputs = definition.input.filter((text) => !text.startsWith("^"));
    const controls = definition.input.filter((text) => text.startsWith("^")).map((text) => text.slice(1));
    const node: GraphNode = {
      name,
      op: definition.op,
      inputs: inputs.map((text) => this.#resolve(scope.readEdge(text))),
      controls: controls.map((control) => scope.prefix + control).filter((control) => this.#sources.has(control)),
      attributes: definition.attr,
    };
    const callee = this.#calleeOf(definition);
    this.#keep(callee === undefined ? node : this.#expand(node, callee, scope));
  }

  #keep(node: GraphNode): void {
    if (this.#nodes.size >= this.#maxNodes)
      throw new Refusal(`more than ${this.#maxNodes} operations with those of functions`);
    this.#nodes.set(node.name, node);
    for (const { node: input } of node.inputs) this.#pending.push(input);
    this.#pending.push(...node.controls);
  }

  /** Replaces a call by its body's effects, for the nodes that wait for it. Its results become nodes too. */
  #expand(call: GraphNode, callee: string, { depth }: Scope): GraphNode {
    if (depth >= MAX_DEPTH) throw new Refusal(`the function "${callee}" calls itself`);
    const body = this.#function(callee);
    const prefix = `${call.name}/`;
    const readEdge = this.#enter(body, { prefix, args: call.inputs, depth: depth + 1 });
    for (const [index, result] of resultsOf(body, readEdge).entries()) {
      const inputs = [this.#resolve(result)];
      this.#keep({
        name: resultName(call.name, index),
        op: "Identity",
        inputs,
        controls: [call.name],
        attributes: NO_ATTRIBUTES,
      });
    }
    const controls = [...call.controls, ...effectsOf(body, prefix)];
    return { name: call.name, op: "NoOp", inputs: [], controls, attributes: NO_ATTRIBUTES };
  }

  /** Makes a copy of a body known under a prefix. */
  #enter(body: FunctionDef, place: { prefix: string; args: readonly Edge[]; depth: number }): ReadEdge {
    const { prefix, args, depth } = place;
    const names = (body.signature?.inputArg ?? []).map(({ name }) => name);
    const byName = new Map(names.map((name, index) => [name, args[index]]));
    const readOutput = createOutputReader(body);
    const readEdge: ReadEdge = (text) => byName.get(text.split(":")[0]!) ?? readOutput(text, prefix);
    const scope: Scope = { prefix, depth, readEdge };
    for (const definition of body.nodeDef) this.#sources.set(prefix + definition.name, { definition, scope });
    return readEdge;
  }

  /** A call's output is the node that stands for that result, once the call is written out. */
  #resolve(edge: Edge): Edge {
    const source = this.#sources.get(edge.node);
    if (source === undefined || this.#calleeOf(source.definition) === undefined) return edge;
    if (this.#nodes.get(edge.node)?.op === "Arg") return edge;
    this.#visit(edge.node);
    return { node: resultName(edge.node, edge.output), output: 0 };
  }

  #calleeOf({ op, attr }: NodeDef): string | undefined {
    if (this.#library.has(op)) return op;
    if (!CALLS.has(op)) return undefined;
    const callee = Object.hasOwn(attr, "f") ? attr.f?.value : undefined;
    return callee?.case === "func" ? callee.value.name : undefined;
  }

  #function(name: string): FunctionDef {
    const found = this.#library.get(name);
    if (found === undefined) throw new Refusal(`the graph has no function "${name}"`);
    return found;
  }
}

/** The functions of a graph's library. */
export function createFunctionLibrary(graph: GraphDef): FunctionLibrary {
  return new Map((graph.library?.function ?? []).map((body) => [body.signature?.name ?? "", body]));
}

function argument(name: string, index: number): GraphNode {
  const attributes: Attributes = { index: { value: { case: "i", value: BigInt(index) } } };
  return { name, op: "Arg", inputs: [], controls: [], attributes };
}

/** A name that no graph's own node has: names have no spaces. */
function resultName(call: string, index: number): string {
  return `${call} result ${index}`;
}

/** Turns a text of a node's inputs into the edge that it means. */
type ReadEdge = (text: string) => Edge;

/** Reads `node:output:index`, as a body writes it. */
function createOutputReader({ nodeDef }: FunctionDef): (text: string, prefix: string) => Edge {
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
function resultsOf({ signature, ret }: FunctionDef, readEdge: ReadEdge): Edge[] {
  return (signature?.outputArg ?? []).map(({ name }) => readEdge(ret[name] ?? name));
}

/** The nodes of a body that have to run whether or not a result needs them. */
function effectsOf({ controlRet }: FunctionDef, prefix: string): string[] {
  return Object.values(controlRet).map((node) => prefix + node);
}

/** The names of the outputs of operations that have several; one that is a list comes last, or is the only one. */
const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  FusedBatchNorm: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormV2: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormV3: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"],
  ListDiff: ["out", "idx"],
  LookupTableExportV2: ["keys", "values"],
  MaxPoolWithArgmax: ["output", "argmax"],
  Merge: ["output", "value_index"],
  NonMaxSuppressionV4: ["selected_indices", "valid_outputs"],
  NonMaxSuppressionV5: ["selected_indices", "selected_scores", "valid_outputs"],
  RaggedGather: ["output_nested_splits", "output_dense_values"],
  RaggedRange: ["rt_nested_splits", "rt_dense_values"],
  SparseFillEmptyRows: ["output_indices", "output_values", "empty_row_indicator", "reverse_index_map"],
  SparseReshape: ["output_indices", "output_shape"],
  StringSplit: ["indices", "values", "shape"],
  StringSplitV2: ["indices", "values", "shape"],
  Switch: ["output_false", "output_true"],
  TensorListConcatV2: ["tensor", "lengths"],
  TensorListPopBack: ["output_handle", "tensor"],
  TopK: ["values", "indices"],
  TopKV2: ["values", "indices"],
  Unique: ["y", "idx"],
  UniqueV2: ["y", "idx"],
  UniqueWithCounts: ["y", "idx", "count"],
  UniqueWithCountsV2: ["y", "idx", "count"],
};

/** The lists that an operation with several gives, in order, and the attribute that says how long each is. */
const LISTS: Readonly<Record<string, readonly (readonly [output: string, length: string])[]>> = {
  ParseExample: [
    ["sparse_indices", "Nsparse"],
    ["sparse_values", "Nsparse"],
    ["sparse_shapes", "Nsparse"],
    ["dense_values", "Tdense"],
  ],
  ParseExampleV2: [
    ["sparse_indices", "num_sparse"],
    ["sparse_values", "num_sparse"],
    ["sparse_shapes", "num_sparse"],
    ["dense_values", "Tdense"],
  ],
};

/** Checks that an operation has more than one output, or list of them. */
function hasSeveralOutputs(op: string): boolean {
  return Object.hasOwn(OUTPUTS, op) || Object.hasOwn(LISTS, op);
}

/** The output of an operation that a function's body means by `node:NAME:INDEX`; undefined if that is not known. */
function outputPosition({ op, attr }: NodeDef, name: string, index: number): number | undefined {
  const lists = LISTS[op];
  if (lists !== undefined) {
    const place = lists.findIndex(([output]) => output === name);
    const before = lists.slice(0, place).map(([, length]) => lengthOf(attr[length]?.value));
    return place === -1 ? undefined : before.reduce((sum, length) => sum + length, index);
  }
  const outputs = OUTPUTS[op];
  // Any other operation here has one output, or one list of them.
  if (outputs === undefined) return index;
  const first = outputs.indexOf(name);
  return first === -1 ? undefined : first + index;
}

function lengthOf(attribute: Attribute | undefined): number {
  return attribute?.case === "list" ? attribute.value.type.length : Number(attribute?.value ?? 0);
}
