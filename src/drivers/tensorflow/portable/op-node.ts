import { dataTypeName, withoutReference } from "../saved-model/data-type.ts";
import type { Attribute } from "../saved-model/graph-def.ts";
import { fromTensorShape } from "../saved-model/tensor-proto.ts";
import type { GraphNode } from "./graph.ts";
import { Refusal } from "./refusal.ts";
import type { Value } from "./values.ts";

/** Computes a node: its inputs' values in, its outputs' out. Throws for values that TensorFlow refuses too. */
export type Kernel = (...inputs: Value[]) => Value | readonly Value[];

/** Makes the kernel of a node; throws {@link Refusal} for what cannot be computed as TensorFlow does. */
export type KernelFactory = (node: OpNode) => Kernel;

/** Kernels by operation. */
export type KernelTable = Readonly<Record<string, KernelFactory>>;

/** Runs a function of the graph. */
export type RunFunction = (inputs: readonly Value[]) => readonly Value[];

/** Objects that nodes refer to in addition to their inputs. */
export interface Surroundings {
  /** The function of a name, ready to run. */
  functionOf(name: string): RunFunction;
  /** The content of a node of this name: a variable or a table. */
  resourceOf(node: string): Value | undefined;
}

/** For nodes that are looked at alone, for their attributes. */
export const NO_SURROUNDINGS: Surroundings = {
  functionOf: (name) => {
    throw new Refusal(`the function "${name}" is not known here`);
  },
  resourceOf: () => undefined,
};

/** A node as kernels see it: typed attributes, with TensorFlow's defaults if exporters left them out. */
export class OpNode {
  readonly name: string;
  readonly op: string;
  readonly inputCount: number;
  readonly #attributes: GraphNode["attributes"];
  readonly #surroundings: Surroundings;

  constructor(node: GraphNode, surroundings: Surroundings) {
    this.name = node.name;
    this.op = node.op;
    this.inputCount = node.inputs.length;
    this.#attributes = node.attributes;
    this.#surroundings = surroundings;
  }

  /** Throws {@link Refusal} with the operation's name before the reason. */
  refuse(reason: string): never {
    throw new Refusal(`${this.op} ${reason}`);
  }

  /** The number of a type; refuses a node without it, unless there is a default. */
  type(name: string, fallback?: number): number {
    return withoutReference(this.#read(name, "type", fallback));
  }

  /** The number of a type, which must be one of those; refuses others by name. */
  typeOf(name: string, allowed: ReadonlySet<number>, fallback?: number): number {
    const type = this.type(name, fallback);
    return allowed.has(type) ? type : this.refuse(`on ${dataTypeName(type)}`);
  }

  integer(name: string, fallback?: number): number {
    return Number(this.#read(name, "i", fallback));
  }

  float(name: string, fallback?: number): number {
    return this.#read(name, "f", fallback);
  }

  flag(name: string, fallback?: boolean): boolean {
    return this.#read(name, "b", fallback);
  }

  text(name: string, fallback?: string): string {
    const value = this.#read(name, "s", fallback);
    return typeof value === "string" ? value : Buffer.from(value).toString();
  }

  /** Dimensions, -1 for any size; undefined for any rank. */
  shape(name: string): readonly number[] | undefined {
    const attribute = this.#attribute(name);
    return attribute?.case === "shape" ? fromTensorShape(attribute.value) : undefined;
  }

  integers(name: string, fallback: readonly number[] = []): readonly number[] {
    const attribute = this.#attribute(name);
    return attribute?.case === "list" ? attribute.value.i.map(Number) : fallback;
  }

  floats(name: string): readonly number[] {
    const attribute = this.#attribute(name);
    return attribute?.case === "list" ? attribute.value.f : [];
  }

  texts(name: string): readonly string[] {
    const attribute = this.#attribute(name);
    return attribute?.case === "list" ? attribute.value.s.map((bytes) => Buffer.from(bytes).toString()) : [];
  }

  types(name: string): readonly number[] {
    const attribute = this.#attribute(name);
    return attribute?.case === "list" ? attribute.value.type : [];
  }

  shapes(name: string): readonly (readonly number[] | undefined)[] {
    const attribute = this.#attribute(name);
    return attribute?.case === "list" ? attribute.value.shape.map(fromTensorShape) : [];
  }

  /** The function that an attribute names. */
  run(name: string): RunFunction {
    const attribute = this.#attribute(name);
    if (attribute?.case !== "func") return this.refuse(`has no function "${name}"`);
    return this.#surroundings.functionOf(attribute.value.name);
  }

  /** The functions that an attribute lists. */
  runs(name: string): readonly RunFunction[] {
    const attribute = this.#attribute(name);
    const functions = attribute?.case === "list" ? attribute.value.func : [];
    return functions.map((call) => this.#surroundings.functionOf(call.name));
  }

  /** The constant that an attribute holds. */
  tensor(name: string): Extract<Attribute, { case: "tensor" }>["value"] {
    const attribute = this.#attribute(name);
    return attribute?.case === "tensor" ? attribute.value : this.refuse(`has no constant "${name}"`);
  }

  /** The variable or table behind this node; refuses one without. */
  resource(): Value {
    return this.#surroundings.resourceOf(this.name) ?? this.refuse(`"${this.name}" has no value in the model`);
  }

  #attribute(name: string): Attribute | undefined {
    return Object.hasOwn(this.#attributes, name) ? this.#attributes[name]?.value : undefined;
  }

  #read<Case extends "type" | "i" | "f" | "b" | "s", Fallback>(
    name: string,
    kind: Case,
    fallback: Fallback | undefined,
  ): Extract<Attribute, { case: Case }>["value"] | Fallback {
    const attribute = this.#attribute(name);
    if (attribute?.case === kind) return attribute.value as never;
    if (attribute === undefined && fallback !== undefined) return fallback;
    return this.refuse(`has no attribute "${name}"`);
  }
}
