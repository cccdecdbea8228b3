import type { ProtobufField, ProtobufFile } from "./protobuf-file.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { graph: 7, function: 25 };
const FUNCTION = { node: 7 };
const GRAPH = { node: 1, initializer: 5 };
const INITIALIZER = { name: 8 };
const NODE = { input: 1, output: 2, operator: 4, attribute: 5 };
const ATTRIBUTE = { graph: 6, graphs: 11 };
/** Graphs within graphs; a file that goes deeper is made to exhaust the stack. */
const MAX_DEPTH = 32;

/** Operators whose work depends on values of some inputs, by their places; the work of all others depends on shapes. */
const WORK_BY_VALUE: Readonly<Record<string, readonly number[]>> = {
  Loop: [0],
  Range: [0, 1, 2],
  ConstantOfShape: [0],
  Expand: [1],
  Tile: [1],
  Pad: [1],
  OneHot: [1],
  Upsample: [1],
  Resize: [2, 3],
  AffineGrid: [1],
  CenterCropPad: [1],
  Col2Im: [1, 2],
  MaxUnpool: [2],
  DFT: [1],
  HannWindow: [0],
  HammingWindow: [0],
  BlackmanWindow: [0],
  MelWeightMatrix: [0, 1],
  BeamSearch: [1],
  GreedySearch: [1],
  Sampling: [1],
  WhisperBeamSearch: [1],
};

/** An input that some operators need in order to be bounded at all. */
const NEEDED = ["Loop"];

/**
 * Checks that the duration of a model's runs depends on the shapes of its inputs
 * alone, not on their values; throws ProtobufError.
 */
export function hasBoundedRuns(file: ProtobufFile, size: number): boolean {
  const nodes = new NodeCollector(file);
  for (const field of file.fields(0, size)) {
    if (field.number === MODEL.graph) nodes.addGraph(field, 0);
    if (field.number === MODEL.function) nodes.addNodes(field, FUNCTION.node, 0);
  }
  return nodes.areBounded();
}

/** The operators of a model that matter, and the names of its constants. */
class NodeCollector {
  readonly #file: ProtobufFile;
  readonly #constants = new Set<string>();
  readonly #suspects: { readonly operator: string; readonly inputs: readonly string[] }[] = [];

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  addGraph(graph: ProtobufField, depth: number): void {
    this.addNodes(graph, GRAPH.node, depth);
    for (const field of this.#file.fields(graph.start, graph.end))
      if (field.number === GRAPH.initializer) this.#constants.add(this.#texts(field, INITIALIZER.name)[0] ?? "");
  }

  addNodes(body: ProtobufField, number: number, depth: number): void {
    for (const field of this.#file.fields(body.start, body.end)) if (field.number === number) this.#add(field, depth);
  }

  areBounded(): boolean {
    return this.#suspects.every(({ operator, inputs }) =>
      WORK_BY_VALUE[operator]!.every((place) => {
        const name = inputs[place] ?? "";
        return name === "" ? !NEEDED.includes(operator) : this.#constants.has(name);
      }),
    );
  }

  #add(node: ProtobufField, depth: number): void {
    const [operator = ""] = this.#texts(node, NODE.operator);
    if (operator === "Constant") for (const name of this.#texts(node, NODE.output)) this.#constants.add(name);
    if (Object.hasOwn(WORK_BY_VALUE, operator))
      this.#suspects.push({ operator, inputs: this.#texts(node, NODE.input) });
    if (depth === MAX_DEPTH) return;
    for (const attribute of this.#file.fields(node.start, node.end))
      if (attribute.number === NODE.attribute) this.#addGraphs(attribute, depth + 1);
  }

  #addGraphs(attribute: ProtobufField, depth: number): void {
    for (const field of this.#file.fields(attribute.start, attribute.end)) {
      if (field.wireType !== 2) continue;
      if (field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs) this.addGraph(field, depth);
    }
  }

  #texts(message: ProtobufField, number: number): string[] {
    const fields = [...this.#file.fields(message.start, message.end)].filter((field) => field.number === number);
    return fields.map((field) => this.#file.text(field));
  }
}
