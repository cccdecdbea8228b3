import type { PackedBytes } from "../../tensor/packed-bytes.ts";
import { varintSize, writeVarint } from "./packed-varints.ts";
import { WIRE } from "./wire-reader.ts";
import type { WirePart } from "./wire-writer.ts";

/** A repeated field of bytes with the given elements: one part for all of them, where millions of parts would take as much memory as a small program. */
export function packedFields(field: number, { content, ranges, byteLength }: PackedBytes): WirePart {
  const tag = (field << 3) | WIRE.bytes;
  let size = byteLength + (ranges.length / 2) * varintSize(tag);
  for (let at = 0; at < ranges.length; at += 2) size += varintSize(ranges[at + 1]! - ranges[at]!);
  return {
    size,
    write: (target, position) => {
      let end = position;
      for (let at = 0; at < ranges.length; at += 2) {
        const [from, to] = [ranges[at]!, ranges[at + 1]!];
        end = writeVarint(to - from, 0, target, writeVarint(tag, 0, target, end));
        target.set(content.subarray(from, to), end);
        end += to - from;
      }
      return end;
    },
  };
}
