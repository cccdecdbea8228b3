import type { WirePart } from "../../src/tensor/codecs/protobuf/wire-writer.ts";

/** Bytes as they are, for messages that no encoder of ours writes. */
export function raw(...bytes: number[]): WirePart {
  return {
    size: bytes.length,
    write(target, position) {
      target.set(bytes, position);
      return position + bytes.length;
    },
  };
}
