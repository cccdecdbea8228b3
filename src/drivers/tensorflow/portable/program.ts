import * as tf from "@tensorflow/tfjs-core";
import { publicText, ServingError } from "../../../errors.ts";
import { fuseLayers } from "./fuse-layers.ts";
import { edgeKey, type Graph } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import type { Kernel, RunFunction, Surroundings } from "./op-node.ts";
import { makePlan, type Plan, type PlanEnds } from "./plan.ts";
import { Refusal } from "./refusal.ts";
import { type Value, Variable } from "./values.ts";

/** The parts of a model that a {@link Compiler} needs. */
interface ModelContents {
  readonly library: FunctionLibrary;
  /** The content of a node: a variable or a table. */
  resourceOf(node: string): Value | undefined;
  /** Fuses layers: quicker, but NaN is lost in some activations. */
  readonly fuses: boolean;
}

/** Makes programs of a model's graphs and of the functions that its branches and loops call. */
export class Compiler {
  /** Reasons why some nodes cannot be computed; filled by {@link compile}. */
  readonly reasons = new Set<string>();
  readonly #contents: ModelContents;
  readonly #functions = new Map<string, Program | "compiling">();
  readonly #check: () => void;

  /** `check` is called before each step of each program, and throws if a run is to end. */
  constructor(contents: ModelContents, check: () => void) {
    this.#contents = contents;
    this.#check = check;
  }

  /** The program of a graph. Runs only if {@link reasons} stays empty. */
  compile(graph: Graph, ends: PlanEnds): Program {
    const surroundings: Surroundings & { readonly reasons: Set<string> } = {
      reasons: this.reasons,
      functionOf: (name) => this.#functionOf(name),
      resourceOf: (node) => this.#contents.resourceOf(node),
    };
    const plan = makePlan(graph, ends, surroundings);
    return new Program(this.#contents.fuses ? fuseLayers(plan) : plan);
  }

  /** The programs of functions that were needed. */
  get functions(): Program[] {
    return [...this.#functions.values()].filter((program) => program !== "compiling");
  }

  #functionOf(name: string): RunFunction {
    const known = this.#functions.get(name);
    if (known === "compiling") throw new Refusal(`the function "${name}" calls itself`);
    const program = known ?? this.#compileFunction(name);
    return (inputs) => program.run(inputs, this.#check);
  }

  #compileFunction(name: string): Program {
    this.#functions.set(name, "compiling");
    const inliner = new GraphInliner(this.#contents.library);
    const { inputs, results, effects } = inliner.addFunction(name);
    const outputs = results.map((edge) => inliner.reach(edge));
    for (const effect of effects) inliner.reachNode(effect);
    const program = this.compile(inliner.nodes, { inputs, outputs });
    this.#functions.set(name, program);
    return program;
  }
}

/** A step with its values' places. */
interface PlacedStep {
  readonly name: string;
  readonly op: string;
  readonly kernel: Kernel;
  readonly inputs: readonly number[];
  /** Place of each output; undefined if no step takes it. */
  readonly targets: readonly (number | undefined)[];
  /** Places whose values are not used after this step. */
  readonly dead: readonly number[];
}

/** Runs a plan: one place for each value, freed after its last use. */
export class Program {
  readonly #steps: readonly PlacedStep[];
  /** Constants in their places, and empty ones. */
  readonly #initial: readonly (Value | undefined)[];
  readonly #inputs: readonly number[];
  readonly #outputs: readonly number[];

  constructor(plan: Plan) {
    const places = new Map<string, number>();
    const placeOf = (key: string) => {
      const place = places.get(key) ?? places.size;
      places.set(key, place);
      return place;
    };
    const constants = [...plan.constants].map(([key, value]) => [placeOf(key), value] as const);
    this.#inputs = plan.inputs.map((edge) => placeOf(edgeKey(edge)));
    const lasting = constants.length + plan.inputs.length;
    const outputs = plan.outputs.map((edge) => placeOf(edgeKey(edge)));
    this.#steps = placeSteps(plan, { placeOf, kept: new Set([...outputs, ...range(lasting)]) });
    const initial = new Array<Value | undefined>(places.size).fill(undefined);
    for (const [place, value] of constants) initial[place] = value;
    this.#initial = initial;
    this.#outputs = outputs;
  }

  /**
   * Computes the outputs; numbers among them are new tensors, which the caller frees.
   * Throws `invalid_argument` naming the node for what it cannot compute, and what
   * `check`, called before each step, throws.
   */
  run(inputs: readonly Value[], check: () => void): Value[] {
    return tf.tidy(() => this.#run(inputs, check) as never) as unknown as Value[];
  }

  /** The variables whose handles are taken at run time. */
  get variables(): Variable[] {
    return this.#initial.filter((value) => value instanceof Variable);
  }

  /** Frees the constants. */
  dispose(): void {
    for (const value of this.#initial) if (value instanceof tf.Tensor) value.dispose();
  }

  #run(inputs: readonly Value[], check: () => void): Value[] {
    const values = this.#initial.slice();
    for (const [index, place] of this.#inputs.entries()) values[place] = inputs[index];
    for (const step of this.#steps) {
      check();
      const given = step.inputs.map((place) => values[place]!);
      place(values, step.targets, [compute(step, given)].flat() as Value[]);
      for (const dead of step.dead) free(values, dead);
    }
    const foreign = new Set<Value | undefined>([...this.#initial, ...inputs]);
    const seen = new Set<Value>();
    return this.#outputs.map((output) => {
      const value = values[output]!;
      const isOwn = !foreign.has(value) && !seen.has(value);
      seen.add(value);
      return isOwn || !(value instanceof tf.Tensor) ? value : value.clone();
    });
  }
}

function compute({ kernel, op, name }: PlacedStep, inputs: readonly Value[]): Value | readonly Value[] {
  try {
    return kernel(...inputs);
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    // What traps in WebAssembly is not the client's fault.
    const code = (reason as Error).name === "RuntimeError" ? "internal" : "invalid_argument";
    throw new ServingError(code, `${op} "${name}": ${publicText(reason)}`, { cause: reason });
  }
}

function place(
  values: (Value | undefined)[],
  targets: readonly (number | undefined)[],
  results: readonly Value[],
): void {
  for (const [index, result] of results.entries()) {
    const target = targets[index];
    if (target !== undefined) values[target] = result;
    else if (result instanceof tf.Tensor) result.dispose();
  }
}

function free(values: (Value | undefined)[], place: number): void {
  const value = values[place];
  if (value instanceof tf.Tensor) value.dispose();
  values[place] = undefined;
}

interface Places {
  readonly placeOf: (key: string) => number;
  /** Places that are not freed during a run. */
  readonly kept: ReadonlySet<number>;
}

function placeSteps({ steps, outputs }: Plan, { placeOf, kept }: Places): PlacedStep[] {
  const inputs = steps.map((step) => step.inputs.map((edge) => placeOf(edgeKey(edge))));
  const dead = lastUses(inputs, kept);
  const targets = new Map<string, (number | undefined)[]>();
  for (const { node, output } of [...steps.flatMap((step) => step.inputs), ...outputs]) {
    const ofNode = targets.get(node) ?? [];
    ofNode[output] = placeOf(edgeKey({ node, output }));
    targets.set(node, ofNode);
  }
  return steps.map(({ node, kernel }, index) => ({
    name: node.name,
    op: node.op,
    kernel,
    inputs: inputs[index]!,
    targets: targets.get(node.name) ?? [],
    dead: dead[index]!,
  }));
}

/** For each step the places that no later step takes. */
function lastUses(inputs: readonly (readonly number[])[], kept: ReadonlySet<number>): number[][] {
  const seen = new Set(kept);
  const dead = inputs.map(() => [] as number[]);
  for (let step = inputs.length - 1; step >= 0; step--) {
    for (const place of inputs[step]!) {
      if (seen.has(place)) continue;
      seen.add(place);
      dead[step]?.push(place);
    }
  }
  return dead;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
