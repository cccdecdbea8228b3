import { valuesThatBound } from "./bounded-operators.ts";
import { ATTRIBUTE, GRAPH, TENSOR } from "./guards/graph-node.ts";
import { type GraphNode, readNode } from "./guards/scope.ts";
import type { ProtobufField, ProtobufFile } from "./protobuf-file.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { graph: 7, function: 25 };
const FUNCTION = { name: 1, node: 7, domain: 10 };

/** Operators whose result is of the shapes of their inputs alone. */
const OF_SHAPES = ["Shape", "Size"];

/**
 * Checks that the duration of a model's runs depends on the shapes of its inputs alone, not on their values: it has
 * only operators of which that is known, no graphs within nodes, and functions of the same kind; throws ProtobufError.
 */
export function hasBoundedRuns(file: ProtobufFile, size: number): boolean {
  const parts = [...file.fields(0, size)];
  const functions = parts.filter(({ number }) => number === MODEL.function);
  const own = new Set(functions.map((field) => nameOf(field, file)));
  return parts.every((field) => {
    if (field.number === MODEL.graph) return new Body(file, own).isBounded(field, GRAPH.node);
    return field.number !== MODEL.function || new Body(file, own).isBounded(field, FUNCTION.node);
  });
}

function nameOf(field: ProtobufField, file: ProtobufFile): string {
  const [domain] = texts(file, field, FUNCTION.domain);
  return `${domain ?? ""}:${texts(file, field, FUNCTION.name)[0]}`;
}

function texts(file: ProtobufFile, { start, end }: ProtobufField, number: number): string[] {
  return [...file.fields(start, end)].filter((field) => field.number === number).map((field) => file.text(field));
}

/** The nodes of a graph or a function, in the order in which they run. */
class Body {
  readonly #file: ProtobufFile;
  readonly #functions: ReadonlySet<string>;
  /** Names of the values that constants and shapes alone decide. */
  readonly #known = new Set<string>();

  constructor(file: ProtobufFile, functions: ReadonlySet<string>) {
    this.#file = file;
    this.#functions = functions;
  }

  isBounded(body: ProtobufField, nodeField: number): boolean {
    const fields = [...this.#file.fields(body.start, body.end)];
    if (nodeField === GRAPH.node) this.#addConstants(fields);
    return fields.every((field) => field.number !== nodeField || this.#takes(readNode(this.#file, field)));
  }

  #addConstants(fields: readonly ProtobufField[]): void {
    for (const field of fields) {
      if (field.number !== GRAPH.initializer) continue;
      const [name] = texts(this.#file, field, TENSOR.name);
      if (name !== undefined) this.#known.add(name);
    }
  }

  #takes(node: GraphNode): boolean {
    if (this.#functions.has(`${node.domain}:${node.operator}`)) return !this.#holdsGraph(node);
    const places = valuesThatBound(node.domain, node.operator);
    if (places === undefined || this.#holdsGraph(node)) return false;
    if (!places.every((place) => this.#isKnown(node.inputs[place] ?? ""))) return false;
    if (OF_SHAPES.includes(node.operator) || node.inputs.every((name) => this.#isKnown(name)))
      for (const name of node.outputs) this.#known.add(name);
    return true;
  }

  /** An input that is left out has a value that nothing decides. */
  #isKnown(name: string): boolean {
    return name === "" || this.#known.has(name);
  }

  #holdsGraph({ attributes }: GraphNode): boolean {
    const isGraph = ({ number }: ProtobufField) => number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs;
    return attributes.some(({ span }) => [...this.#file.fields(span.start, span.end)].some(isGraph));
  }
}
