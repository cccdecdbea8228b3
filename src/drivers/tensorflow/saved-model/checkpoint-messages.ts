import type { TensorShape } from "./graph-def.ts";

/** `BundleHeaderProto`: the entry without a key in a checkpoint's index. */
export interface BundleHeader {
  readonly numShards: number;
  /** 1 = big. */
  readonly endianness: number;
}

/** `BundleEntryProto`: where a tensor lies in a checkpoint. */
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
