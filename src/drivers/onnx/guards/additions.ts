import { constantNode, type NewNode, TYPE } from "./graph-node.ts";
import { type GuardedNode, toGuardName } from "./guard-mark.ts";

/** Nodes that are put before one of a model's, to refuse what it cannot bear. */
export class Additions {
  readonly nodes: NewNode[] = [];
  readonly #prefix: string;
  readonly #guarded: GuardedNode;

  /** `prefix` begins the names of the values, and no other value's. */
  constructor(prefix: string, guarded: GuardedNode) {
    this.#prefix = prefix;
    this.#guarded = guarded;
  }

  /** Adds a node; gives its result's name. */
  node(operator: string, inputs: readonly string[], attributes: NewNode["attributes"] = {}): string {
    const output = this.#fresh();
    this.nodes.push({ name: toGuardName(this.#guarded, output), operator, inputs, output, attributes });
    return output;
  }

  /** Adds a constant scalar. */
  scalar(type: (typeof TYPE)["int32" | "int64"], value: bigint): string {
    return this.#constant({ type, values: [value] });
  }

  /** Adds a constant list of sizes. */
  list(...values: readonly number[]): string {
    return this.#constant({ type: TYPE.int64, dims: [values.length], values: values.map(BigInt) });
  }

  #constant(tensor: Parameters<typeof constantNode>[1]): string {
    const output = this.#fresh();
    this.nodes.push(constantNode(output, tensor));
    return output;
  }

  #fresh(): string {
    return `${this.#prefix}${this.nodes.length}`;
  }
}
