import * as tf from "@tensorflow/tfjs-core";
import { publicText, ServingError } from "../../../errors.ts";
import { edgeKey } from "./graph.ts";
import type { Kernel } from "./op-node.ts";
import type { Plan } from "./plan.ts";
import { type Value, Variable } from "./values.ts";

/** A step with its values' places. */
interface PlacedStep {
  readonly name: string;
  readonly op: string;
  readonly kernel: Kernel;
  readonly inputs: readonly number[];
  /** Place of each output; undefined where no step takes it. */
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
   * Computes the outputs; numbers among them are tensors of their own, which the caller frees.
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
