import { readFileSync } from "node:fs";
import { createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { BundleEntry, BundleHeader } from "./checkpoint-messages.ts";
import type { ExampleMessage } from "./example-message.ts";
import type { GraphDef } from "./graph-def.ts";
import type { AssetFileDef, MetaGraphDef, SavedModelDef, SignatureDef } from "./meta-graph.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../../../proto/tensorflow-core.binpb", import.meta.url);

/** TensorFlow's messages that we read, by name. */
interface Messages {
  readonly Example: ExampleMessage;
  readonly SavedModel: SavedModelDef;
  readonly MetaGraphDef: MetaGraphDef;
  readonly SignatureDef: SignatureDef;
  readonly AssetFileDef: AssetFileDef;
  readonly GraphDef: GraphDef;
  readonly BundleHeaderProto: BundleHeader;
  readonly BundleEntryProto: BundleEntry;
}

let registry: ReturnType<typeof createFileRegistry> | undefined;

/** Decodes one of TensorFlow's messages; byte fields view `bytes`. Throws the decoder's error for any other bytes. */
export function parseMessage<Name extends keyof Messages>(name: Name, bytes: Uint8Array): Messages[Name] {
  // Unknown fields need not be kept for writing.
  return fromBinary(messageSchema(name), bytes, { readUnknownFields: false }) as unknown as Messages[Name];
}

/** The schema of one of TensorFlow's messages in proto/tensorflow/core. */
export function messageSchema(name: string): DescMessage {
  registry ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTORS)));
  return registry.getMessage(`tensorflow.${name}`) as DescMessage;
}
