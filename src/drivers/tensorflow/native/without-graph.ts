import { BinaryReader } from "@bufbuild/protobuf/wire";

/** The field of a MetaGraphDef that holds its graph. */
const GRAPH_DEF = 2;

/** A MetaGraphDef's bytes without its graph, which is nearly all of them, and which TensorFlow has read already. */
export function withoutGraph(metaGraph: Uint8Array): Uint8Array {
  const reader = new BinaryReader(metaGraph);
  const kept: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    if (field !== GRAPH_DEF) kept.push(metaGraph.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}
