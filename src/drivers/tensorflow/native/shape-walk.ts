import type { FunctionDef, NodeDef } from "../saved-model/graph-def.ts";
import type { Shape } from "./rank-rules.ts";
import { shapeOf } from "./shape-rules.ts";
import { misfitOf } from "./windows.ts";

/** Operations that end the process where their input has fewer dimensions. */
const FEWEST: Readonly<Record<string, number>> = {
  Conv2D: 4,
  DepthwiseConv2dNative: 4,
  Conv3D: 5,
  MaxPool3D: 5,
};
const CALLS = new Set(["PartitionedCall", "StatefulPartitionedCall"]);
/** In a function, results of normalisation that are not the first. */
const STATISTICS = /:(batch_(mean|variance)|reserve_space_\d)$/;
/** Deeper calls are a function that calls itself. */
const MAX_DEPTH = 50;

/** A node with an input that would end the process. */
interface ShapeFault {
  readonly node: string;
  /** The message, which begins with the operation. */
  readonly text: string;
}

/** A function with its nodes by name. */
interface Callee extends Omit<FunctionDef, "nodeDef"> {
  readonly nodes: ReadonlyMap<string, NodeDef>;
}

/** Functions of a graph, by name. */
export type Functions = ReadonlyMap<string, Callee>;

/** Computes shapes through the nodes that some others need, and looks for the first that would end the process. */
export class ShapeWalk {
  /** The first fault that was found. */
  fault: ShapeFault | undefined;
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #functions: Functions;
  readonly #depth: number;
  /** By node, by `node:index` for outputs that are not the first, and by `node:name` for results of functions. */
  readonly #shapes: Map<string, Shape>;

  constructor(nodes: ReadonlyMap<string, NodeDef>, known: ReadonlyMap<string, Shape>, functions: Functions, depth = 0) {
    this.#nodes = nodes;
    this.#shapes = new Map(known);
    this.#functions = functions;
    this.#depth = depth;
  }

  /**
   * The shape of what an input's text names. Depth first without recursion, since graphs
   * are deep; a loop's way back has none.
   */
  shape(text: string): Shape {
    const pending = [nodeOf(text)];
    const entered = new Set<string>();
    for (let name = pending.at(-1); name !== undefined; name = pending.at(-1)) {
      const node = this.#shapes.has(name) ? undefined : this.#nodes.get(name);
      const missing = node === undefined || entered.has(name) ? [] : this.#missing(node, entered);
      entered.add(name);
      pending.push(...missing);
      if (missing.length > 0) continue;
      pending.pop();
      if (node !== undefined) this.#compute(node);
    }
    return this.#given(text);
  }

  #missing({ input }: NodeDef, entered: ReadonlySet<string>): string[] {
    return input.map(nodeOf).filter((name) => !this.#shapes.has(name) && !entered.has(name));
  }

  #compute(node: NodeDef): void {
    const data = node.input.filter((text) => !text.startsWith("^"));
    const shapes = data.map((text) => this.#given(text));
    const callee = this.#calleeOf(node);
    if (callee !== undefined) {
      this.#call(node.name, callee, shapes);
      return;
    }
    const text = tooFewDimensions(node, shapes) ?? misfitOf(node, shapes);
    if (text !== undefined) this.fault ??= { node: node.name, text: `${node.op} ${text}` };
    const sources = data.map((text) => this.#nodes.get(nodeOf(text)));
    this.#shapes.set(node.name, shapeOf(node, shapes, sources));
  }

  #given(text: string): Shape {
    if (!text.includes(":")) return this.#shapes.get(text);
    const [node, ...output] = text.split(":");
    const name = output.length === 2 ? `${node}:${output[0]}` : "";
    if (this.#shapes.has(name)) return this.#shapes.get(name);
    const index = Number(output.at(-1) ?? 0);
    return STATISTICS.test(name) ? undefined : this.#shapes.get(index === 0 ? node! : `${node}:${index}`);
  }

  #calleeOf({ op, attr }: NodeDef): Callee | undefined {
    const called = CALLS.has(op) && Object.hasOwn(attr, "f") ? attr.f?.value : undefined;
    return this.#functions.get(called?.case === "func" ? called.value.name : op);
  }

  #call(name: string, { signature, nodes, ret, controlRet }: Callee, shapes: readonly Shape[]): void {
    this.#shapes.set(name, undefined);
    if (this.#depth >= MAX_DEPTH) return;
    const given = new Map((signature?.inputArg ?? []).map((argument, index) => [argument.name, shapes[index]]));
    const walk = new ShapeWalk(nodes, given, this.#functions, this.#depth + 1);
    for (const [index, { name: result }] of (signature?.outputArg ?? []).entries()) {
      const shape = walk.shape(ret[result] ?? result);
      this.#shapes.set(index === 0 ? name : `${name}:${index}`, shape);
      this.#shapes.set(`${name}:${result}`, shape);
    }
    for (const node of Object.values(controlRet)) walk.shape(node);
    this.fault ??= walk.fault;
  }
}

function nodeOf(text: string): string {
  const end = text.indexOf(":");
  return text.slice(text.startsWith("^") ? 1 : 0, end < 0 ? undefined : end);
}

function tooFewDimensions({ op }: NodeDef, [first]: readonly Shape[]): string | undefined {
  const fewest = FEWEST[op] ?? 0;
  if (first === undefined || first.length >= fewest) return undefined;
  return `takes an input of ${fewest} dimensions, and this one has ${first.length}`;
}
