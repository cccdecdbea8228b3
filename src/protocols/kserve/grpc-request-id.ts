import { bytesTag, WireReader } from "../../codecs/protobuf/wire-reader.ts";

/** Field of a ModelInferRequest. */
const ID = 3;
/** Number of fields that are searched for it: clients write it among the first. */
const SEARCHED_FIELDS = 64;

/** The id of a ModelInferRequest that was not or cannot be read; empty where none of its first valid fields has it. */
export function readRequestId(bytes: Uint8Array): string {
  const reader = new WireReader(bytes, "ModelInferRequest");
  let id = "";
  try {
    for (let rest = SEARCHED_FIELDS; rest > 0 && reader.hasMore(); rest--) {
      const tag = reader.tag();
      if (tag === bytesTag(ID)) id = reader.text();
      else reader.skip(tag);
    }
    return id;
  } catch {
    return id;
  }
}
