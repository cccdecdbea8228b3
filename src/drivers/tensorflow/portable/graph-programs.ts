import type { GraphDef } from "../saved-model/graph-def.ts";
import { createFunctionLibrary, type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import type { ModelResources } from "./model-resources.ts";
import { inexactTypes, type PlanEnds } from "./plan.ts";
import type { Program } from "./program.ts";
import { Compiler } from "./program.ts";
import { Refusal } from "./refusal.ts";

/** A part of a graph has operations that cannot be computed. */
export class RefusedGraph extends Error {
  override readonly name = "RefusedGraph";
  readonly reasons: ReadonlySet<string>;

  constructor(reasons: ReadonlySet<string>) {
    super([...reasons].join("; "));
    this.reasons = reasons;
  }
}

/** The programs of the parts of a graph that are asked for, each compiled once. */
export class GraphPrograms {
  /** Types that are computed with another precision than TensorFlow's, by name. */
  readonly inexactTypes = new Set<string>();
  readonly #graph: GraphDef;
  readonly #library: FunctionLibrary;
  readonly #resources: ModelResources | undefined;
  readonly #check: () => void;
  readonly #programs = new Map<string, Program>();
  readonly #functions: Program[] = [];

  /** `check` is called before each step of a run, and throws if the run is to end. */
  constructor(graph: GraphDef, resources: ModelResources | undefined, check: () => void) {
    this.#graph = graph;
    this.#library = createFunctionLibrary(graph);
    this.#resources = resources;
    this.#check = check;
  }

  /**
   * The program from some tensors to others; with `fuses` quicker, but only for finite
   * numbers. Throws {@link RefusedGraph}.
   */
  get(ends: PlanEnds, fuses: boolean): Program {
    const key = JSON.stringify([ends, fuses]);
    const program = this.#programs.get(key) ?? this.#compile(ends, fuses);
    this.#programs.set(key, program);
    return program;
  }

  /** Frees the variables whose values only went into constants. */
  releaseVariables(): void {
    const programs = [...this.#programs.values(), ...this.#functions];
    this.#resources?.release(new Set(programs.flatMap(({ variables }) => variables)));
  }

  /** Frees everything. */
  dispose(): void {
    for (const program of [...this.#programs.values(), ...this.#functions]) program.dispose();
    this.#resources?.release(new Set());
  }

  #compile({ inputs, outputs }: PlanEnds, fuses: boolean): Program {
    const inliner = new GraphInliner(this.#library);
    const resourceOf = (node: string) => this.#resources?.resourceOf(node);
    const compiler = new Compiler({ library: this.#library, resourceOf, fuses }, this.#check);
    try {
      inliner.addGraph(this.#graph);
      for (const edge of inputs) inliner.addInput(edge);
      const reached = outputs.map((edge) => inliner.reach(edge));
      const program = compiler.compile(inliner.nodes, { inputs, outputs: reached });
      this.#functions.push(...compiler.functions);
      if (compiler.reasons.size === 0) return this.#checked(program, inliner);
      program.dispose();
      throw new RefusedGraph(compiler.reasons);
    } catch (reason) {
      throw reason instanceof Refusal ? new RefusedGraph(new Set([reason.message])) : reason;
    }
  }

  #checked(program: Program, { nodes }: GraphInliner): Program {
    for (const type of inexactTypes(nodes)) this.inexactTypes.add(type);
    return program;
  }
}
