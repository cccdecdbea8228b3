import { fuseLayers } from "./fuse-layers.ts";
import type { Graph } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import { makePlan, type PlanEnds } from "./make-plan.ts";
import type { RunFunction, Surroundings } from "./op-node.ts";
import { Program } from "./program.ts";
import { Refusal } from "./refusal.ts";
import type { Value } from "./values.ts";

/** The parts of a model that a {@link Compiler} needs. */
export interface ModelContents {
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

  /** `check` is called before each step of each program, and throws where a run is to end. */
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
