import { elementCount, type Tensor } from "../../../tensor/tensor.ts";
import type { ModelSource } from "../model-source.ts";
import { toDType } from "../saved-model/data-type.ts";
import type { FunctionDef, GraphDef, NodeDef, TensorProto } from "../saved-model/graph-def.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import { fromTensorShape } from "../saved-model/tensor-proto.ts";
import { TensorflowFailure } from "./c-api.ts";
import { hasOperation, someGraph } from "./graph-files.ts";
import { type Integers, integersOf, MAX_INTEGERS, type Shape } from "./node-attributes.ts";
import type { Feed } from "./run-session.ts";
import { faultOf, HAZARDOUS, hasWindow, takesSizes } from "./shape-faults.ts";
import { shapeOf } from "./shape-rules.ts";

/** Attributes that tell shapes, and the function that a call calls. */
const KEPT = [
  ...["value", "shape", "squeeze_dims", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "keep_dims", "f"],
  ...["begin_mask", "end_mask", "ksize", "strides", "dilations", "padding", "explicit_paddings", "data_format"],
];
/** Types of sizes and axes. */
const INTEGERS = new Set(["int32", "int64"]);
/** Runs whose result is known. */
const MAX_KNOWN = 1024;
/** gRPC's number of INVALID_ARGUMENT. */
const INVALID_ARGUMENT = 3;

/**
 * Refuses inputs whose shape would end the process: TensorFlow 2.21 computes convolutions with oneDNN, which stops the
 * program if their input has too few dimensions. If a window is larger than what it moves over, it divides by
 * zero, or answers memory that it has not written.
 */
export class ShapeGuard {
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #functions: Functions;
  /** True if a request's integers may be sizes. */
  readonly #takesSizes: boolean;
  /** True if more than the number of dimensions counts. */
  readonly #hasWindows: boolean;
  readonly #known = new Map<string, TensorflowFailure | undefined>();

  constructor({ node, library }: GraphDef) {
    this.#nodes = byName(node);
    const functions = library?.function ?? [];
    this.#functions = new Map(
      functions.map(({ nodeDef, ...rest }) => [rest.signature?.name ?? "", { ...rest, nodes: byName(nodeDef) }]),
    );
    const all = [node, ...functions.map(({ nodeDef }) => nodeDef)].flat();
    this.#takesSizes = all.some(({ op }) => takesSizes(op));
    this.#hasWindows = this.#takesSizes || all.some(hasWindow);
  }

  /** Throws {@link TensorflowFailure} for a run that would end the process. */
  check(feeds: readonly Feed[], wanted: readonly string[]): void {
    const told = (tensor: Tensor) =>
      this.#hasWindows ? `[${tensor.shape}](${this.#integersOf(tensor) ?? ""})` : tensor.shape.length;
    const key = `${feeds.map(({ target, tensor }) => `${target.name} ${told(tensor)}`)}>${wanted}`;
    if (!this.#known.has(key)) this.#note(key, this.#faultOf(feeds, wanted));
    const failure = this.#known.get(key);
    if (failure !== undefined) throw failure;
  }

  /** A request's few integers, if they may be sizes. */
  #integersOf({ dtype, data }: Tensor): Integers {
    if (!this.#takesSizes || !INTEGERS.has(dtype) || data.length > MAX_INTEGERS) return undefined;
    return Array.from(data as ArrayLike<number | bigint>, Number);
  }

  #note(key: string, failure: TensorflowFailure | undefined): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, failure);
  }

  #faultOf(feeds: readonly Feed[], wanted: readonly string[]): TensorflowFailure | undefined {
    const given = feeds.map(({ target, tensor }) => {
      const known = { shape: tensor.shape, integers: this.#integersOf(tensor) };
      return [target.name.replace(/:0$/, ""), known] as const;
    });
    const walk = new ShapeWalk(this.#nodes, new Map(given), this.#functions);
    for (const name of wanted) walk.follow(name);
    if (walk.fault === undefined) return undefined;
    const { node, text } = walk.fault;
    return new TensorflowFailure(INVALID_ARGUMENT, `${text} [[{{node ${node}}}]]`);
  }
}

/**
 * The guard of a model; undefined for one without such operations, and for one that
 * cannot be read, of which TensorFlow tells why.
 */
export function createShapeGuard(source: ModelSource, tags: string): ShapeGuard | undefined {
  if (!someGraph(source, (bytes) => hasOperation(bytes, HAZARDOUS))) return undefined;
  try {
    const { format, path } = source;
    const graph = format === "saved-model" ? loadSavedModel(path, parseTags(tags)).graphDef : loadFrozenGraph(path);
    return graph && new ShapeGuard(graph);
  } catch {
    return undefined;
  }
}

function byName(nodes: readonly NodeDef[]): ReadonlyMap<string, NodeDef> {
  return new Map(reduced(nodes).map((node) => [node.name, node]));
}

/** Nodes without what tells no shape, above all the values of constants, which view the whole file. */
function reduced(nodes: readonly NodeDef[]): NodeDef[] {
  return nodes.map(({ name, op, input, device, attr }) => {
    const kept = KEPT.filter((key) => Object.hasOwn(attr, key)).map((key) => [key, withoutValues(attr[key]!)]);
    return { name, op, input, device, attr: Object.fromEntries(kept) };
  });
}

function withoutValues(attribute: NodeDef["attr"][string]): NodeDef["attr"][string] {
  const { value } = attribute;
  if (value.case !== "tensor") return attribute;
  const { tensorShape, tensorContent } = value.value;
  const kept = isSmall(value.value) ? { ...value.value, tensorContent: tensorContent.slice() } : { tensorShape };
  return { value: { case: "tensor", value: kept as TensorProto } };
}

function isSmall({ dtype, tensorShape }: TensorProto): boolean {
  const count = elementCount(fromTensorShape(tensorShape) ?? []);
  return INTEGERS.has(toDType(dtype) ?? "") && count <= MAX_INTEGERS;
}

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
interface Known {
  readonly shape: Shape;
  readonly integers?: Integers;
}

/** Functions of a graph, by name. */
type Functions = ReadonlyMap<string, Callee>;

/** Computes shapes through the nodes that some others need, and looks for the first that would end the process. */
class ShapeWalk {
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
