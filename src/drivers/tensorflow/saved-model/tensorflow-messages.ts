import { readFileSync } from "node:fs";
import { createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { AssetFileDef, GraphDef, MetaGraphDef, SavedModelDef, SignatureDef, TensorShape } from "./graph-def.ts";

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

/** `BundleHeaderProto`: the entry without a key in a checkpoint's index. */
interface BundleHeader {
  readonly numShards: number;
  /** 1 = big. */
  readonly endianness: number;
}

/** `BundleEntryProto`: a tensor's place in a checkpoint. */
export interface BundleEntry {
  /** Number of {@link DataType}. */
  readonly dtype: number;
  readonly shape?: TensorShape;
  readonly shardId: number;
  readonly offset: bigint;
  readonly size: bigint;
  /** Masked; of the tensor's bytes. */
  readonly crc32c: number;
  /** Of a variable that was saved in parts. */
  readonly slices: readonly unknown[];
}

/** `Example`: features by name. */
export interface ExampleMessage {
  readonly features?: { readonly feature: Readonly<Record<string, FeatureMessage>> };
}

/** The values of one feature: byte strings, floats or 64-bit integers. */
export type FeatureValues = readonly (Uint8Array | number | bigint)[];

/** A list of values, maybe empty, and which of the three it is. */
export interface FeatureKind {
  readonly case: "bytesList" | "floatList" | "int64List";
  readonly value: { readonly value: FeatureValues };
}

interface FeatureMessage {
  readonly kind: FeatureKind | { readonly case: undefined; readonly value?: undefined };
}
