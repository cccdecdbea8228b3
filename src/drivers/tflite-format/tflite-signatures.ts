import type { FlatbufferTable } from "./flatbuffer-table.ts";

// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const MODEL = { subgraphs: 2, buffers: 4, metadata: 6, signatures: 7 };
const METADATA = { name: 0, buffer: 1 };
const BUFFER = { data: 0 };
const SUBGRAPH = { tensors: 0, inputs: 1, outputs: 2 };
const TENSOR = { name: 3 };
const SIGNATURE = { inputs: 0, outputs: 1, key: 2, subgraph: 4 };
const NAMED_TENSOR = { name: 0, tensor: 1 };
/** Name of the metadata in which TensorFlow Serving's tools keep a SavedModel's signatures, by name. */
const SIGNATURE_DEFS = "signature_defs_metadata";

/** A tensor that a signature takes or gives. */
export interface TfliteEnd {
  readonly name: string;
  readonly index: number;
  readonly tensor: FlatbufferTable;
}

/** Inputs and outputs of a .tflite file under one name. */
export interface TfliteSignature {
  readonly key: string;
  /** The number of its graph. */
  readonly graph: number;
  readonly inputs: readonly TfliteEnd[];
  readonly outputs: readonly TfliteEnd[];
}

/**
 * The signatures of a file; that of the first graph, by the names of its tensors, if an older converter wrote none.
 * Throws RangeError for a file that refers to tensors which it does not have.
 */
export function readTfliteSignatures(model: FlatbufferTable): readonly TfliteSignature[] {
  const graphs = model.tables(MODEL.subgraphs);
  const [first] = graphs;
  const signatures = model.tables(MODEL.signatures);
  if (signatures.length === 0 && first !== undefined) return [ofGraph(first)];
  const tensorsOf = new Map<number, FlatbufferTable[]>();
  return signatures.map((signature) => {
    const graph = signature.int(SIGNATURE.subgraph);
    const tensors = tensorsOf.get(graph) ?? graphs[graph]?.tables(SUBGRAPH.tensors) ?? [];
    tensorsOf.set(graph, tensors);
    const read = (field: number) =>
      signature
        .tables(field)
        .map((end) => ({ ...tensorAt(tensors, end.int(NAMED_TENSOR.tensor)), name: end.text(NAMED_TENSOR.name) }));
    return {
      key: signature.text(SIGNATURE.key),
      graph,
      inputs: read(SIGNATURE.inputs),
      outputs: read(SIGNATURE.outputs),
    };
  });
}

/** The name that a graph itself has for a tensor. */
export function tensorName({ tensor }: TfliteEnd): string {
  return tensor.text(TENSOR.name);
}

/**
 * Signatures that stand in the metadata, if the file itself has none; undefined if they lie behind the file's
 * end.
 */
export function findSignatureDefs(model: FlatbufferTable): Uint8Array | undefined {
  if (model.count(MODEL.signatures) > 0) return undefined;
  const metadata = model.tables(MODEL.metadata).find((each) => each.text(METADATA.name) === SIGNATURE_DEFS);
  if (metadata === undefined) return undefined;
  const bytes = model.tables(MODEL.buffers)[metadata.int(METADATA.buffer)]?.bytes(BUFFER.data);
  return bytes?.length ? bytes : undefined;
}

function ofGraph(graph: FlatbufferTable): TfliteSignature {
  const tensors = graph.tables(SUBGRAPH.tensors);
  const read = (field: number) =>
    graph.ints(field).map((index) => {
      const { tensor } = tensorAt(tensors, index);
      return { index, tensor, name: tensor.text(TENSOR.name) };
    });
  return { key: "", graph: 0, inputs: read(SUBGRAPH.inputs), outputs: read(SUBGRAPH.outputs) };
}

function tensorAt(tensors: readonly FlatbufferTable[], index: number): Pick<TfliteEnd, "index" | "tensor"> {
  const tensor = tensors[index];
  if (tensor === undefined) throw new RangeError(`no tensor ${index}`);
  return { index, tensor };
}
