import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { bytesTag, MAP_ENTRY, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { messageField, textElement, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { TensorProtoFields } from "./tensor-proto-fields.ts";
import { toTensor } from "./tensor-proto-reader.ts";
import { type TensorEncoding, tensorProtoParts } from "./tensor-proto-writer.ts";

/** Memory of a map entry while it is read, so that a message of empty entries cannot fill the memory. */
const ENTRY_BYTES = 256;

/** A protobuf map of TensorProto while it is read: of entries with equal keys the last one counts. */
export class TensorMap {
  readonly #entries = new Map<string, TensorProtoFields>();
  readonly #budget: DecodeBudget;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  /** Reads an entry and gives its key. */
  read(entry: WireReader): string {
    this.#budget.spend(ENTRY_BYTES, () => "one more map entry");
    const fields = new TensorProtoFields(this.#budget);
    let key = "";
    while (entry.hasMore()) {
      const tag = entry.tag();
      if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
      else if (tag === bytesTag(MAP_ENTRY.value)) fields.merge(entry.nested("TensorProto"));
      else entry.skip(tag);
    }
    this.#entries.set(key, fields);
    return key;
  }

  tensors(): Tensors {
    const tensors = createTensors();
    for (const [name, fields] of this.#entries) tensors[name] = toTensor(fields, name, this.#budget);
    return tensors;
  }
}

/** The entries of such a map, as fields of the message that has it. */
export function tensorFields(field: number, tensors: Tensors, encoding: TensorEncoding): WirePart[] {
  const entries: WirePart[] = [];
  for (const name in tensors) {
    const value = messageField(MAP_ENTRY.value, tensorProtoParts(tensors[name] as Tensor, encoding));
    entries.push(messageField(field, [textElement(MAP_ENTRY.key, name), value]));
  }
  return entries;
}
