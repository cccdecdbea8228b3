import { bytesTag, WireReader } from "../codecs/protobuf/wire-reader.ts";

/** A protobuf message without one of its length-delimited fields, and the contents of that field. */
interface SplitMessage {
  readonly others: Uint8Array;
  readonly contents: readonly Uint8Array[];
}

/** Takes a length-delimited field out of a message; throws `invalid_argument` for malformed bytes. */
export function splitField(bytes: Uint8Array, field: number): SplitMessage {
  const reader = new WireReader(bytes, "message");
  const kept: Uint8Array[] = [];
  const contents: Uint8Array[] = [];
  while (reader.hasMore()) {
    const start = bytes.length - reader.left;
    const tag = reader.tag();
    if (tag === bytesTag(field)) contents.push(reader.bytes());
    else {
      reader.skip(tag);
      kept.push(bytes.subarray(start, bytes.length - reader.left));
    }
  }
  return { others: Buffer.concat(kept), contents };
}
