/** Names of files of which a graph can be drawn: ONNX, OpenVINO's IR, TensorFlow Lite, a frozen graph. */
export const DRAWN_FILES: RegExp = /\.(?:onnx|xml|tflite|pb)$/i;
/** The file with the graph of a SavedModel's folder. */
export const SAVED_MODEL = "saved_model.pb";

/** The graph of a model, for people to look at: inputs first, outputs last. */
export interface ModelGraph {
  readonly nodes: readonly GraphNode[];
  /** Further nodes, which are left out: people do not look at so many. */
  readonly omitted: number;
}

/** One operation, input or output of a model. */
export interface GraphNode {
  readonly name: string;
  /** Its operator; `Input` and `Output` of the model. */
  readonly type: string;
  /** Indices of the nodes that its values come from, constants aside. */
  readonly from: readonly number[];
  /** Type and shape of its first value, `float32 [1, any]`; empty = the file does not say. */
  readonly gives: string;
  /** Of its constants. */
  readonly bytes: number;
}

/** A node as a file has it, with the names of values. */
interface NamedNode {
  readonly name: string;
  readonly type: string;
  readonly takes: readonly string[];
  readonly gives: readonly string[];
}

/** Nodes of a graph, values that a node takes, and characters of a text, at most. */
const [MAX_NODES, MAX_TAKEN, MAX_TEXT] = [300, 32, 100];
/** Inputs and outputs that are drawn at most, each. */
const MAX_ENDS = MAX_NODES / 4;
/** Inputs of a file that are looked at: old files list their weights among them. */
const MAX_LISTED = 10_000;

/** Puts a graph together from the parts of a file, in whatever order they come, and keeps it within bounds. */
export class GraphBuilder {
  readonly #nodes = { inputs: [] as NamedNode[], inner: [] as NamedNode[], outputs: [] as NamedNode[] };
  readonly #facts = new Map<string, string>();
  readonly #constants = new Map<string, number>();
  #omitted = 0;

  /** Adds an operation, in the order of the file. */
  add(node: NamedNode): void {
    this.#keep("inner", node);
  }

  /** Adds an input of the model, which is none if a constant has its value's name. */
  addInput(name: string, value = name): void {
    this.#keep("inputs", { name, type: "Input", takes: [], gives: [value] });
  }

  /** Adds an output of the model by the value that it is. */
  addOutput(name: string, value = name): void {
    this.#keep("outputs", { name, type: "Output", takes: [value], gives: [] });
  }

  /** Adds a constant, whose bytes count for those that take it. */
  addConstant(value: string, bytes: number): void {
    this.#constants.set(value, bytes);
  }

  /** Says of a value of which type and shape it is; sizes that are undefined are any. */
  describe(value: string, type: string, shape: readonly (number | string | undefined)[] | undefined): void {
    this.#facts.set(value, shape === undefined ? type : `${type} [${shape.map((size) => size ?? "any").join(", ")}]`);
  }

  /** The graph of all that was added. */
  build(): ModelGraph {
    const { inputs, inner, outputs } = this.#nodes;
    const own = inputs.filter(({ gives: [value = ""] }) => !this.#constants.has(value));
    const room = MAX_NODES - outputs.length;
    const before = [...own.slice(0, MAX_ENDS), ...inner];
    const kept = [...before.slice(0, room), ...outputs];
    const makers = new Map(kept.flatMap(({ gives }, index) => gives.map((value) => [value, index] as const)));
    return {
      nodes: kept.map((node) => this.#toNode(node, makers)),
      omitted: this.#omitted + Math.max(0, own.length - MAX_ENDS) + Math.max(0, before.length - room),
    };
  }

  #keep(kind: "inputs" | "inner" | "outputs", node: NamedNode): void {
    const room = { inputs: MAX_LISTED, inner: MAX_NODES, outputs: MAX_ENDS }[kind];
    if (this.#nodes[kind].length < room) this.#nodes[kind].push(node);
    else this.#omitted++;
  }

  #toNode({ name, type, takes, gives }: NamedNode, makers: ReadonlyMap<string, number>): GraphNode {
    const from = takes.flatMap((value) => makers.get(value) ?? []);
    const fact = this.#facts.get(gives[0] ?? takes[0] ?? "") ?? "";
    return {
      name: cut(name),
      type: cut(type),
      from: [...new Set(from)].slice(0, MAX_TAKEN),
      gives: cut(fact),
      bytes: takes.reduce((sum, value) => sum + (this.#constants.get(value) ?? 0), 0),
    };
  }
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
