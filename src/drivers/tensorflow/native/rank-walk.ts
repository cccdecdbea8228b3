import type { FunctionDef, NodeDef } from "../saved-model/graph-def.ts";
import { type Rank, rankOf } from "./rank-rules.ts";

/** Operations that end the process where their input has fewer dimensions. */
export const FEWEST: Readonly<Record<string, number>> = {
  Conv2D: 4,
  DepthwiseConv2dNative: 4,
  Conv3D: 5,
  MaxPool3D: 5,
};
const CALLS = new Set(["PartitionedCall", "StatefulPartitionedCall"]);
/** Deeper calls are a function that calls itself. */
const MAX_DEPTH = 50;

/** A node whose input has too few dimensions. */
export interface RankFault {
  readonly node: string;
  readonly op: string;
  readonly rank: number;
}

/** Functions of a graph, by name. */
export type Functions = ReadonlyMap<string, FunctionDef>;

/** Computes ranks through the nodes that some others need, and looks for the first that would end the process. */
export class RankWalk {
  /** The first fault that was found. */
  fault: RankFault | undefined;
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #functions: Functions;
  readonly #depth: number;
  /** By node, or by `node:index` for outputs that are not the first. */
  readonly #ranks: Map<string, Rank>;

  constructor(nodes: ReadonlyMap<string, NodeDef>, known: ReadonlyMap<string, Rank>, functions: Functions, depth = 0) {
    this.#nodes = nodes;
    this.#ranks = new Map(known);
    this.#functions = functions;
    this.#depth = depth;
  }

  /**
   * The rank of what an input's text names. Depth first without recursion, since graphs
   * are deep; a loop's way back has none.
   */
  rank(text: string): Rank {
    const pending = [nodeOf(text)];
    const entered = new Set<string>();
    for (let name = pending.at(-1); name !== undefined; name = pending.at(-1)) {
      const node = this.#ranks.has(name) ? undefined : this.#nodes.get(name);
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
    return input.map(nodeOf).filter((name) => !this.#ranks.has(name) && !entered.has(name));
  }

  #compute(node: NodeDef): void {
    const data = node.input.filter((text) => !text.startsWith("^"));
    const ranks = data.map((text) => this.#given(text));
    const callee = this.#calleeOf(node);
    if (callee !== undefined) {
      this.#call(node.name, callee, ranks);
      return;
    }
    const [first] = ranks;
    if (first !== undefined && first < (FEWEST[node.op] ?? 0))
      this.fault ??= { node: node.name, op: node.op, rank: first };
    const sources = data.map((text) => this.#nodes.get(nodeOf(text)));
    this.#ranks.set(node.name, rankOf(node, ranks, sources));
  }

  #given(text: string): Rank {
    const [node, ...output] = text.replace(/^\^/, "").split(":");
    const index = Number(output.at(-1) ?? 0);
    return this.#ranks.get(index === 0 ? node! : `${node}:${index}`);
  }

  #calleeOf({ op, attr }: NodeDef): FunctionDef | undefined {
    const called = CALLS.has(op) && Object.hasOwn(attr, "f") ? attr.f?.value : undefined;
    return this.#functions.get(called?.case === "func" ? called.value.name : op);
  }

  #call(name: string, { signature, nodeDef, ret, controlRet }: FunctionDef, ranks: readonly Rank[]): void {
    this.#ranks.set(name, undefined);
    if (this.#depth >= MAX_DEPTH) return;
    const given = new Map((signature?.inputArg ?? []).map((argument, index) => [argument.name, ranks[index]]));
    const nodes = new Map(nodeDef.map((node) => [node.name, node]));
    const walk = new RankWalk(nodes, given, this.#functions, this.#depth + 1);
    for (const [index, { name: result }] of (signature?.outputArg ?? []).entries())
      this.#ranks.set(index === 0 ? name : `${name}:${index}`, walk.rank(ret[result] ?? result));
    for (const node of Object.values(controlRet)) walk.rank(node);
    this.fault ??= walk.fault;
  }
}

function nodeOf(text: string): string {
  return text.replace(/^\^|:.*$/g, "");
}
