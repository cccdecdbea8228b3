import type { PackedBytes } from "../../packed-bytes.ts";
import {
  assertWholeVarints,
  type NarrowIntegers,
  narrowVarintsSize,
  varintSize,
  type WideIntegers,
  wideVarintsSize,
  writeNarrowVarints,
  writeVarint,
  writeWideVarints,
} from "./packed-varints.ts";
import { bytesTag, WIRE, type WireReader } from "./wire-reader.ts";
import { delimited, type WirePart } from "./wire-writer.ts";

/** The packed numbers of a field, whose single values have the wire type `wire`; refuses a part of a number. */
export function packedBlock(reader: WireReader, field: number, wire: number): Uint8Array {
  const block = reader.bytes();
  const width = wire === WIRE.fixed64 ? 8 : 4;
  if (wire === WIRE.varint) assertWholeVarints(block);
  else if (block.length % width !== 0) throw reader.malformed(`field ${field} is not a whole number of values`);
  return block;
}

/** A repeated field of integers, packed. */
export function varintsField(field: number, values: NarrowIntegers | WideIntegers): WirePart {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return delimited(field, wideVarintsSize(values), (target, at) => writeWideVarints(values, target, at));
  }
  return delimited(field, narrowVarintsSize(values), (target, at) => writeNarrowVarints(values, target, at));
}

/**
 * A repeated field of bytes with the given elements: one part for all of them, where millions of parts would take as
 * much memory as a small program.
 */
export function packedFields(field: number, { content, ranges, byteLength }: PackedBytes): WirePart {
  const tag = bytesTag(field);
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
