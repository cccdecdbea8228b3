import * as tf from "@tensorflow/tfjs-core";
import { failedPrecondition, invalidArgument, ServingError } from "../../../errors.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { toTensors, type Values } from "../../../tensor/plain-value.ts";
import { createRecord } from "../../../tensor/record.ts";
import { DEFAULT_SIGNATURE, type Dimension } from "../../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { Model, PredictCall } from "../../driver.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import type { GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import type { BoundTensor, ModelSignature, ModelSignatures } from "../saved-model/model-signatures.ts";
import { outputType } from "./element-types.ts";
import { type Edge, parseEdge } from "./graph.ts";
import { createFunctionLibrary, type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import type { ModelResources } from "./model-resources.ts";
import { inexactTypes, type PlanEnds } from "./plan.ts";
import { Compiler, type Program } from "./program.ts";
import { Refusal } from "./refusal.ts";
import { fromValue, toValue, type Value } from "./values.ts";

/** Parts of a portable model. */
export interface PortableSource {
  readonly graph: GraphDef;
  readonly signatures: Readonly<Record<string, ModelSignature>>;
  readonly unserved?: ModelSignatures["unserved"];
  /** Absent for frozen graphs, which have no variables. */
  readonly resources: ModelResources | undefined;
}

/** Inputs and outputs of a run. */
interface Ends {
  readonly feeds: readonly { readonly name: string; readonly edge: Edge; readonly tensor: Tensor }[];
  readonly fetches: readonly { readonly edge: Edge; readonly dtype: DType }[];
}

/** A model whose signatures are separate programs; runs one at a time, and blocks its thread meanwhile. */
export class PortableModel implements Model {
  /** Those that can be computed. */
  readonly signatures: Readonly<Record<string, ModelSignature>>;
  /** By signature: the operations that keep it from being served. */
  readonly refused: ReadonlyMap<string, ReadonlySet<string>>;
  readonly hookArgs: Readonly<Record<string, unknown>>;
  readonly unserved: ModelSignatures["unserved"];
  readonly checksShapes = true;
  /** Models that write are refused. */
  readonly isPure = true;
  readonly #programs: GraphPrograms;
  #deadline = Number.POSITIVE_INFINITY;

  /** Compiles every signature. */
  constructor({ graph, signatures, unserved = {}, resources }: PortableSource) {
    this.unserved = unserved;
    this.#programs = new GraphPrograms(graph, resources, () => this.#check());
    const served = createRecord<ModelSignature>();
    const refused = new Map<string, ReadonlySet<string>>();
    for (const [name, signature] of Object.entries(signatures)) {
      const reasons = this.#prepare(signature);
      if (reasons === undefined) served[name] = signature;
      else refused.set(name, reasons);
    }
    this.#programs.releaseVariables();
    [this.signatures, this.refused] = [served, refused];
    this.hookArgs = createHookArgs(graph, served[DEFAULT_SIGNATURE], this.#runPart);
  }

  /** Types that are computed with another precision than TensorFlow's, by name. */
  get inexactTypes(): ReadonlySet<string> {
    return this.#programs.inexactTypes;
  }

  async predict(inputs: Tensors, { signature, outputs: wanted, signal, deadlineMs }: PredictCall): Promise<Tensors> {
    if (signal.aborted) throw ServingError.from(signal.reason);
    const { inputs: given, outputs } = this.signatures[signature]!;
    this.#deadline = performance.now() + (deadlineMs ?? Number.POSITIVE_INFINITY);
    const tensors = this.#run({
      feeds: given.map((spec) => ({ ...bound(spec), tensor: inputs[spec.name] ?? (spec.default as Tensor) })),
      fetches: outputs.map(bound),
    });
    const named = outputs.map(({ name }, index) => [name, tensors[index]!] as const);
    return createTensors(named.filter(([name]) => wanted?.includes(name) ?? true));
  }

  async close(): Promise<void> {
    this.#programs.dispose();
  }

  readonly #runPart: RunGraph = (fetches, feeds) => {
    this.#deadline = Number.POSITIVE_INFINITY;
    return this.#run({
      feeds: feeds.map(({ name, tensor }) => ({ name, tensor, edge: parseEdge(name) })),
      fetches: fetches.map(({ name, dtype }) => ({ dtype, edge: parseEdge(name) })),
    });
  };

  #run(ends: Ends): Tensor[] {
    const program = this.#programOf(ends);
    const values: Value[] = [];
    try {
      for (const { name, tensor } of ends.feeds) values.push(toValue(tensor, `Input "${name}"`));
      const results = program.run(values, () => this.#check());
      values.push(...results);
      return ends.fetches.map(({ dtype }, index) => fromValue(results[index]!, dtype));
    } finally {
      for (const value of values) if (value instanceof tf.Tensor) value.dispose();
    }
  }

  /**
   * Compiles parts that no signature needed at load (those that hooks run, infinite numbers) with their first request.
   */
  #programOf({ feeds, fetches }: Ends): Program {
    const ends = { inputs: feeds.map(({ edge }) => edge), outputs: fetches.map(({ edge }) => edge) };
    const fuses = feeds.every(({ tensor }) => hasFiniteNumbers(tensor));
    try {
      return this.#programs.get(ends, fuses);
    } catch (reason) {
      if (!(reason instanceof RefusedGraph)) throw reason;
      const message = `This part of the graph cannot be computed as TensorFlow does: ${reason.message}.`;
      throw failedPrecondition(message, reason);
    } finally {
      this.#programs.releaseVariables();
    }
  }

  /** Reasons why a signature cannot be computed; undefined if it can. */
  #prepare({ inputs, outputs }: ModelSignature): ReadonlySet<string> | undefined {
    const edges = (tensors: readonly BoundTensor[]) => tensors.map(({ nativeName }) => parseEdge(nativeName));
    try {
      this.#programs.get({ inputs: edges(inputs), outputs: edges(outputs) }, true);
      return undefined;
    } catch (reason) {
      if (reason instanceof RefusedGraph) return reason.reasons;
      throw reason;
    }
  }

  #check(): void {
    if (performance.now() < this.#deadline) return;
    throw new ServingError("deadline_exceeded", "The request's deadline passed while the model ran.");
  }
}

function bound({ name, nativeName, dtype }: BoundTensor): { name: string; edge: Edge; dtype: DType } {
  return { name, dtype, edge: parseEdge(nativeName) };
}

/** Checks that a tensor has no NaN or infinity: then fused layers compute it right. */
function hasFiniteNumbers({ dtype, data }: Tensor): boolean {
  if (dtype !== "float32" && dtype !== "float64") return true;
  for (let index = 0; index < data.length; index++) {
    if (!Number.isFinite(data[index])) return false;
  }
  return true;
}

/** Runs any part of a graph. */
type RunGraph = (
  fetches: readonly { readonly name: string; readonly dtype: DType }[],
  feeds: readonly { readonly name: string; readonly tensor: Tensor }[],
) => Tensor[];

/** The third argument of hooks, as the native engine gives it too. */
function createHookArgs(
  graph: GraphDef,
  signature: ModelSignature | undefined,
  run: RunGraph,
): Readonly<Record<string, unknown>> {
  const shapes = createRecord<readonly Dimension[]>();
  for (const { name, shape = [] } of signature?.inputs ?? []) shapes[name] = shape;
  return {
    driver: "tensorflow",
    graph: { operations: async () => graph.node.map(toOperation) },
    sess: createSessionHandle(graph, run),
    model_inputs: shapes,
    model_outputs: (signature?.outputs ?? []).map(({ name }) => name),
  };
}

function toOperation(node: NodeDef) {
  const type = outputType(node, 0);
  const dtype = type === undefined ? undefined : (toDType(type) ?? dataTypeName(type));
  return { name: node.name, type: node.op, outputs: dtype === undefined ? [] : [{ name: `${node.name}:0`, dtype }] };
}

function createSessionHandle(graph: GraphDef, run: RunGraph) {
  const nodes = new Map(graph.node.map((node) => [node.name, node]));
  const dtypeOf = (name: string) => tensorType(nodes, name);
  return {
    async run(fetches: string | readonly string[], feeds: Values = {}): Promise<Tensor | Tensor[]> {
      const names = typeof fetches === "string" ? [fetches] : fetches;
      const tensors = toTensors(feeds, dtypeOf);
      const given = Object.entries(tensors).map(([name, tensor]) => ({ name, tensor }));
      const results = run(
        names.map((name) => ({ name, dtype: dtypeOf(name) })),
        given,
      );
      return typeof fetches === "string" ? results[0]! : results;
    },
  };
}

function tensorType(nodes: ReadonlyMap<string, NodeDef>, name: string): DType {
  const { node, output } = parseEdge(name);
  const definition = nodes.get(node);
  if (definition === undefined)
    throw invalidArgument(`The graph has no tensor "${name}".${didYouMean(node, nodes.keys())}`);
  const dtype = toDType(outputType(definition, output) ?? 0);
  if (dtype === undefined) throw invalidArgument(`The type of "${name}" (${definition.op}) cannot be served.`);
  return dtype;
}

/** A part of a graph has operations that cannot be computed. */
class RefusedGraph extends Error {
  override readonly name = "RefusedGraph";
  readonly reasons: ReadonlySet<string>;

  constructor(reasons: ReadonlySet<string>) {
    super([...reasons].join("; "));
    this.reasons = reasons;
  }
}

/** The programs of the parts of a graph that are asked for, each compiled once. */
class GraphPrograms {
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
