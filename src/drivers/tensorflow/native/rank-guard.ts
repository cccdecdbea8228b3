import { readFileSync } from "node:fs";
import type { ModelSource } from "../model-source.ts";
import type { GraphDef, NodeDef, TensorProto } from "../saved-model/graph-def.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import { graphFiles } from "./graph-files.ts";
import { namesOperation } from "./names-operation.ts";
import { FEWEST, type Functions, RankWalk } from "./rank-walk.ts";
import type { Feed } from "./run-session.ts";
import { TensorflowFailure } from "./status.ts";

/** Attributes that tell ranks, and the function that a call calls. */
const KEPT = ["value", "shape", "squeeze_dims", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "f"];
/** Runs whose result is known. */
const MAX_KNOWN = 256;
/** gRPC's number of INVALID_ARGUMENT. */
const INVALID_ARGUMENT = 3;

/**
 * Refuses inputs whose number of dimensions would end the process: TensorFlow 2.21 computes convolutions with oneDNN,
 * which stops the program where their input has too few, instead of failing the run.
 */
export class RankGuard {
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #functions: Functions;
  readonly #known = new Map<string, TensorflowFailure | undefined>();

  constructor({ node, library }: GraphDef) {
    this.#nodes = byName(node);
    const functions = library?.function ?? [];
    this.#functions = new Map(
      functions.map((each) => [each.signature?.name ?? "", { ...each, nodeDef: reduced(each.nodeDef) }]),
    );
  }

  /** Throws {@link TensorflowFailure} for a run that would end the process. */
  check(feeds: readonly Feed[], wanted: readonly string[]): void {
    const key = `${feeds.map(({ target, tensor }) => `${target.name} ${tensor.shape.length}`)}>${wanted}`;
    if (!this.#known.has(key)) this.#note(key, this.#faultOf(feeds, wanted));
    const failure = this.#known.get(key);
    if (failure !== undefined) throw failure;
  }

  #note(key: string, failure: TensorflowFailure | undefined): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, failure);
  }

  #faultOf(feeds: readonly Feed[], wanted: readonly string[]): TensorflowFailure | undefined {
    const given = feeds.map(({ target, tensor }) => [target.name.replace(/:0$/, ""), tensor.shape.length] as const);
    const walk = new RankWalk(this.#nodes, new Map(given), this.#functions);
    for (const name of wanted) walk.rank(name);
    if (walk.fault === undefined) return undefined;
    const { node, op, rank } = walk.fault;
    const text = `${op} takes an input of ${FEWEST[op]} dimensions, and this one has ${rank} [[{{node ${node}}}]]`;
    return new TensorflowFailure(INVALID_ARGUMENT, text);
  }
}

/**
 * The guard of a model; undefined for one without such operations, and for one that
 * cannot be read, of which TensorFlow tells why.
 */
export function createRankGuard(source: ModelSource, tags: string): RankGuard | undefined {
  if (!graphFiles(source).some(hasConvolutions)) return undefined;
  try {
    const { format, path } = source;
    const graph = format === "saved-model" ? loadSavedModel(path, parseTags(tags)).graphDef : loadFrozenGraph(path);
    return graph && new RankGuard(graph);
  } catch {
    return undefined;
  }
}

function hasConvolutions(file: string): boolean {
  const bytes = readFileSync(file);
  return Object.keys(FEWEST).some((name) => bytes.includes(namesOperation(name)));
}

function byName(nodes: readonly NodeDef[]): ReadonlyMap<string, NodeDef> {
  return new Map(reduced(nodes).map((node) => [node.name, node]));
}

/** Nodes without what tells no rank, above all the values of constants, which view the whole file. */
function reduced(nodes: readonly NodeDef[]): NodeDef[] {
  return nodes.map(({ name, op, input, device, attr }) => {
    const kept = KEPT.filter((key) => Object.hasOwn(attr, key)).map((key) => [key, withoutValues(attr[key]!)]);
    return { name, op, input, device, attr: Object.fromEntries(kept) };
  });
}

function withoutValues(attribute: NodeDef["attr"][string]): NodeDef["attr"][string] {
  const { value } = attribute;
  if (value.case !== "tensor") return attribute;
  const { tensorShape } = value.value;
  return { value: { case: "tensor", value: { tensorShape } as TensorProto } };
}
