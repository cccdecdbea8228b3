import type { FunctionDef, NodeDef } from "../saved-model/graph-def.ts";
import type { Shape } from "./node-attributes.ts";
import { type Integers, integersOf } from "./node-attributes.ts";
import { faultOf } from "./shape-faults.ts";
import { shapeOf } from "./shape-rules.ts";

const CALLS = new Set(["PartitionedCall", "StatefulPartitionedCall"]);
/** In a function, results of normalisation that are not the first. */
const STATISTICS = /:(batch_(mean|variance)|reserve_space_\d)$/;
const UNKNOWN: Known = { shape: undefined };
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

/** Facts about a tensor that are known before a run. */
export interface Known {
  readonly shape: Shape;
  readonly integers?: Integers;
}

/** Functions of a graph, by name. */
export type Functions = ReadonlyMap<string, Callee>;

/** Computes shapes through the nodes that some others need, and looks for the first that would end the process. */
export class ShapeWalk {
  /** The first fault that was found. */
  fault: ShapeFault | undefined = undefined;
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #functions: Functions;
  readonly #depth: number;
  /** By node, by `node:index` for outputs that are not the first, and by `node:name` for results of functions. */
  readonly #known: Map<string, Known>;

  constructor(nodes: ReadonlyMap<string, NodeDef>, known: ReadonlyMap<string, Known>, functions: Functions, depth = 0) {
    this.#nodes = nodes;
    this.#known = new Map(known);
    this.#functions = functions;
    this.#depth = depth;
  }

  /**
   * Facts about the tensor that an input's text names. Depth first without recursion, since graphs
   * are deep; a loop's way back has none.
   */
  follow(text: string): Known {
    const pending = [nodeOf(text)];
    const entered = new Set<string>();
    for (let name = pending.at(-1); name !== undefined; name = pending.at(-1)) {
      const node = this.#known.has(name) ? undefined : this.#nodes.get(name);
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
    return input.map(nodeOf).filter((name) => !this.#known.has(name) && !entered.has(name));
  }

  #compute(node: NodeDef): void {
    const data = node.input.filter((text) => !text.startsWith("^"));
    const given = data.map((text) => this.#given(text));
    const callee = this.#calleeOf(node);
    if (callee !== undefined) {
      this.#call(node.name, callee, given);
      return;
    }
    const shapes = given.map(({ shape }) => shape);
    const integers = given.map((one) => one.integers);
    const text = faultOf(node, shapes, integers);
    if (text !== undefined) this.fault ??= { node: node.name, text: `${node.op} ${text}` };
    const sources = data.map((text) => this.#nodes.get(nodeOf(text)));
    const shape = shapeOf(node, { shapes, integers, sources });
    this.#known.set(node.name, { shape, integers: integersOf(node, integers, shapes) });
  }

  #given(text: string): Known {
    if (!text.includes(":")) return this.#known.get(text) ?? UNKNOWN;
    const [node, ...output] = text.split(":");
    const name = output.length === 2 ? `${node}:${output[0]}` : "";
    const named = this.#known.get(name);
    if (named !== undefined) return named;
    const index = Number(output.at(-1) ?? 0);
    if (STATISTICS.test(name)) return UNKNOWN;
    return this.#known.get(index === 0 ? node! : `${node}:${index}`) ?? UNKNOWN;
  }

  #calleeOf({ op, attr }: NodeDef): Callee | undefined {
    const called = CALLS.has(op) && Object.hasOwn(attr, "f") ? attr.f?.value : undefined;
    return this.#functions.get(called?.case === "func" ? called.value.name : op);
  }

  #call(name: string, { signature, nodes, ret, controlRet }: Callee, known: readonly Known[]): void {
    this.#known.set(name, UNKNOWN);
    if (this.#depth >= MAX_DEPTH) return;
    const given = new Map(
      (signature?.inputArg ?? []).map((argument, index) => [argument.name, known[index] ?? UNKNOWN]),
    );
    const walk = new ShapeWalk(nodes, given, this.#functions, this.#depth + 1);
    for (const [index, { name: result }] of (signature?.outputArg ?? []).entries()) {
      const found = walk.follow(ret[result] ?? result);
      this.#known.set(index === 0 ? name : `${name}:${index}`, found);
      this.#known.set(`${name}:${result}`, found);
    }
    for (const node of Object.values(controlRet)) walk.follow(node);
    this.fault ??= walk.fault;
  }
}

function nodeOf(text: string): string {
  const end = text.indexOf(":");
  return text.slice(text.startsWith("^") ? 1 : 0, end < 0 ? undefined : end);
}
