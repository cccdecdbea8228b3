import type { Attributes, FunctionDef, GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import { createOutputReader, effectsOf, type ReadEdge, resultsOf } from "./function-body.ts";
import { type Edge, type Graph, type GraphNode, parseEdge } from "./graph.ts";
import { Refusal } from "./refusal.ts";

/** The functions of a graph, by name. */
export type FunctionLibrary = ReadonlyMap<string, FunctionDef>;

/** A node where it stands: in the graph itself, or in one call's copy of a function's body. */
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
  readonly #sources = new Map<string, Source>();
  readonly #nodes = new Map<string, GraphNode>();
  readonly #pending: string[] = [];

  constructor(library: FunctionLibrary) {
    this.#library = library;
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
    if (this.#nodes.size >= MAX_NODES) throw new Refusal(`more than ${MAX_NODES} operations with those of functions`);
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
