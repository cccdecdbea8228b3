import { peekVarint, WIRE } from "./wire-reader.ts";

/** Places in messages of one kind of the values that may be viewed without copying. */
export interface ValuePlaces {
  /**
   * The number of the field that holds a message, at each depth from the whole message down to the one with the values.
   */
  readonly nesting: readonly number[];
  /**
   * Fields of the innermost message with values that are viewed: not packed varints, and not messages such as a shape.
   */
  readonly viewedFields: ReadonlySet<number>;
  /** The field that holds raw values; absent = none. */
  readonly rawField?: number;
  /** Depth of the message that has it. Default 0, the outermost. */
  readonly rawDepth?: number;
}

/** Fields that are looked at. */
const MAX_FIELDS = 512;
/** Size of a large value, in bytes; there may be one in each innermost message. */
const LARGE_BYTES = 64 * 1024;
/** Size from which an unaligned value takes long to copy, in bytes. */
const LARGE_COPY_BYTES = 8 * 1024 * 1024;
/** The width of the widest numbers. */
const ALIGNMENT = 8;

/**
 * Checks that reading a message takes little time whatever its size: it has few fields, and the large ones are values
 * to be viewed. Looks at the beginning of each field only. A malformed message is refused quickly.
 */
export function isQuickToRead(message: Uint8Array, places: ValuePlaces): boolean {
  return new QuickLook(message, places).isQuick(0, message.length, 0);
}

class QuickLook {
  readonly #message: Uint8Array;
  readonly #places: ValuePlaces;
  #fieldsLeft = MAX_FIELDS;
  /** Maximum number of bytes outside values. */
  #otherLeft = LARGE_BYTES;

  constructor(message: Uint8Array, places: ValuePlaces) {
    this.#message = message;
    this.#places = places;
  }

  isQuick(start: number, end: number, depth: number): boolean {
    let largeValues = 0;
    for (let at = start; at < end; ) {
      if (this.#fieldsLeft-- === 0) return false;
      const tag = peekVarint(this.#message, at);
      const kind = tag.value & 7;
      at = tag.end;
      if (kind === WIRE.varint) at = peekVarint(this.#message, at).end;
      else if (kind === WIRE.fixed32) at += 4;
      else if (kind === WIRE.fixed64) at += 8;
      else if (kind !== WIRE.bytes) return end - at <= LARGE_BYTES;
      else {
        const length = peekVarint(this.#message, at);
        const field = { number: tag.value >>> 3, start: length.end, end: length.end + length.value };
        if (field.end > end) return true;
        if (depth === this.#places.nesting.length && length.value > LARGE_BYTES) largeValues++;
        if (largeValues > 1 || !this.#isQuickField(field, depth)) return false;
        at = field.end;
      }
    }
    return true;
  }

  #isQuickField({ number, start, end }: Field, depth: number): boolean {
    const { nesting, viewedFields, rawField, rawDepth = 0 } = this.#places;
    if (nesting[depth] === number) return this.isQuick(start, end, depth + 1);
    const isValue = depth === rawDepth ? number === rawField : depth === nesting.length && viewedFields.has(number);
    if (isValue) return end - start <= LARGE_COPY_BYTES || (this.#message.byteOffset + start) % ALIGNMENT === 0;
    this.#otherLeft -= end - start;
    return this.#otherLeft >= 0;
  }
}

interface Field {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}
