import { peekVarint, WIRE } from "../tensor/codecs/protobuf/wire-reader.ts";

/** The field numbers on the way to a message's large values, one for each depth. */
export type Nesting = readonly number[];

/**
 * Index of the value in a message that reaches beyond `head`, its first bytes, so that a buffer can be chosen in which
 * that value is aligned. A guess, valid for any bytes: undefined if there is none.
 */
export function payloadStart(head: Uint8Array, nesting: Nesting): number | undefined {
  let depth = 0;
  let at = 0;
  while (at < head.length) {
    const tag = peekVarint(head, at);
    at = tag.end;
    const kind = tag.value & 7;
    if (kind === WIRE.bytes) {
      const length = peekVarint(head, at);
      at = length.end;
      if (length.value <= head.length - at) at += length.value;
      else if (tag.value >>> 3 === nesting[depth]) depth++;
      else return at;
    } else if (kind === WIRE.varint) at = peekVarint(head, at).end;
    else if (kind === WIRE.fixed32) at += 4;
    else if (kind === WIRE.fixed64) at += 8;
    else return undefined;
  }
  return undefined;
}
