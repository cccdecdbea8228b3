// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs

const [BYTE, SHORT, INT, LONG] = [1, 2, 4, 8];
const table = (fields: Readonly<Record<number, FieldKind>>): TableShape => ({ fields });
const list = (element: number | TableShape): FieldKind => ({ list: element });

/** Of most operators' options no field leads elsewhere. */
const OPTIONS = table({});
/** Those that do, by their numbers: RESHAPE's new shape, SQUEEZE's dimensions, BUCKETIZE's boundaries. */
const OPTIONS_WITH_LISTS = { 17: table({ 0: list(INT) }), 30: table({ 0: list(INT) }), 115: table({ 0: list(INT) }) };
const SPARSE_INDICES = table({});
const DIMENSION = table({
  0: BYTE,
  1: INT,
  2: BYTE,
  3: { table: SPARSE_INDICES },
  4: BYTE,
  5: { table: SPARSE_INDICES },
});
const SPARSITY = table({ 0: list(INT), 1: list(INT), 2: list(DIMENSION) });
const QUANTIZATION = table({
  0: list(INT),
  1: list(INT),
  2: list(INT),
  3: list(LONG),
  4: BYTE,
  5: { table: OPTIONS },
  6: INT,
});
const TENSOR = table({
  0: list(INT),
  1: BYTE,
  2: INT,
  3: "text",
  4: { table: QUANTIZATION },
  5: BYTE,
  6: { table: SPARSITY },
  7: list(INT),
  8: BYTE,
  9: list(table({ 0: list(INT), 1: BYTE, 2: BYTE })),
});
const OPERATOR = table({
  0: INT,
  1: list(INT),
  2: list(INT),
  3: BYTE,
  4: { variants: OPTIONS_WITH_LISTS, by: 3 },
  5: list(BYTE),
  6: BYTE,
  7: list(BYTE),
  8: list(INT),
  9: LONG,
  10: LONG,
  11: BYTE,
  12: { table: OPTIONS },
});
const SUBGRAPH = table({ 0: list(TENSOR), 1: list(INT), 2: list(INT), 3: list(OPERATOR), 4: "text", 5: INT });
const OPERATOR_CODE = table({ 0: BYTE, 1: "text", 2: INT, 3: INT });
const BUFFER = table({ 0: list(BYTE), 1: LONG, 2: LONG });
const METADATA = table({ 0: "text", 1: INT });
const NAMED_TENSOR = table({ 0: "text", 1: INT });
const SIGNATURE = table({ 0: list(NAMED_TENSOR), 1: list(NAMED_TENSOR), 2: "text", 4: INT });

/** A .tflite file. */
export const TFLITE_MODEL: TableShape = table({
  0: INT,
  1: list(OPERATOR_CODE),
  2: list(SUBGRAPH),
  3: "text",
  4: list(BUFFER),
  5: list(INT),
  6: list(METADATA),
  7: list(SIGNATURE),
});

/** Bytes of an element by the number of its type; absent for types of no fixed size, or of less than a byte. */
export const ELEMENT_BYTES: Readonly<Record<number, number>> = {
  0: INT,
  1: SHORT,
  2: INT,
  3: BYTE,
  4: LONG,
  6: BYTE,
  7: SHORT,
  8: LONG,
  9: BYTE,
  10: LONG,
  11: 2 * LONG,
  12: LONG,
  15: INT,
  16: SHORT,
  18: SHORT,
};

/** The greatest number of a type. */
export const LAST_TYPE = 20;
/** The greatest number of an operator that is built in. */
export const LAST_OPERATOR = 209;

/** Content of a table's field; a number is the size in bytes of a plain one, 0 a flag without meaning here. */
type FieldKind = number | "text" | { readonly list: number | TableShape } | { readonly table: TableShape } | Variants;

/** A table of one of several shapes: which one, another field says. */
interface Variants {
  /** By the value of the other field; a table that is not among them has plain fields only. */
  readonly variants: Readonly<Record<number, TableShape>>;
  /** The number of the other field, which is a byte. */
  readonly by: number;
}

const PLAIN: TableShape = { fields: {} };

/**
 * The fields of a table by their numbers. A table with others has them checked as far as the table's own extent goes.
 */
interface TableShape {
  readonly fields: Readonly<Record<number, FieldKind>>;
}

/** A table is looked at once for each reference to it; files that refer to one again and again grow beyond this. */
const MAX_TABLES = 4_000_000;
const MAX_DEPTH = 64;
/** Bytes of lists and texts are counted likewise; this many times the file's bytes, since converters share few. */
const MAX_SHARING = 16;

/**
 * Checks that every table, list and text of a FlatBuffer lies within the file (https://flatbuffers.dev/internals).
 * Throws RangeError with what does not.
 */
export function verifyFlatbuffer(bytes: DataView, root: TableShape): void {
  new Verifier(bytes).table(follow(bytes, 0), root, 0);
}

/** The place that an offset leads to; throws RangeError for one that leads out of the file. */
function follow(bytes: DataView, at: number): number {
  return at + bytes.getUint32(at, true);
}

class Verifier {
  readonly #bytes: DataView;
  #tables = 0;
  #listBytes = 0;

  constructor(bytes: DataView) {
    this.#bytes = bytes;
  }

  table(at: number, { fields }: TableShape, depth: number): void {
    if (++this.#tables > MAX_TABLES || depth > MAX_DEPTH) throw tooOften();
    this.#within(at, 4, "a table");
    const list = at - this.#bytes.getInt32(at, true);
    this.#within(list, 4, "a list of fields");
    const [listBytes, tableBytes] = [this.#bytes.getUint16(list, true), this.#bytes.getUint16(list + 2, true)];
    if (listBytes < 4 || listBytes % 2 === 1 || tableBytes < 4) throw new RangeError("a list of fields is damaged");
    this.#within(list, listBytes, "a list of fields");
    this.#within(at, tableBytes, "a table");
    for (let entry = 4; entry < listBytes; entry += 2) {
      const offset = this.#bytes.getUint16(list + entry, true);
      if (offset === 0) continue;
      const kind = fields[(entry - 4) / 2] ?? 1;
      const size = typeof kind === "number" ? kind : 4;
      if (offset < 4 || offset + size > tableBytes) throw new RangeError("a field lies outside of its table");
      if (typeof kind === "object" && "variants" in kind)
        this.table(follow(this.#bytes, at + offset), this.#chosen(at, list, kind), depth + 1);
      else if (typeof kind !== "number") this.#reference(at + offset, kind, depth);
    }
  }

  #chosen(at: number, list: number, { variants, by }: Variants): TableShape {
    const entry = 4 + 2 * by;
    const offset = entry < this.#bytes.getUint16(list, true) ? this.#bytes.getUint16(list + entry, true) : 0;
    return variants[offset === 0 ? 0 : this.#bytes.getUint8(at + offset)] ?? PLAIN;
  }

  #reference(at: number, kind: Exclude<FieldKind, number | Variants>, depth: number): void {
    const target = follow(this.#bytes, at);
    if (kind === "text") this.#list(target, 1, "a text");
    else if ("table" in kind) this.table(target, kind.table, depth + 1);
    else if (typeof kind.list === "number") this.#list(target, kind.list, "a list");
    else this.#tablesOf(target, kind.list, depth);
  }

  #tablesOf(at: number, shape: TableShape, depth: number): void {
    const count = this.#list(at, 4, "a list of tables");
    for (let index = 1; index <= count; index++) this.table(follow(this.#bytes, at + 4 * index), shape, depth + 1);
  }

  #list(at: number, size: number, what: string): number {
    this.#within(at, 4, what);
    const count = this.#bytes.getUint32(at, true);
    this.#within(at + 4, count * size, what);
    this.#listBytes += count * size;
    if (this.#listBytes > MAX_SHARING * this.#bytes.byteLength) throw tooOften();
    return count;
  }

  #within(at: number, size: number, what: string): void {
    if (at < 0 || at + size > this.#bytes.byteLength) throw new RangeError(`${what} lies outside of the file`);
  }
}

function tooOften(): RangeError {
  return new RangeError("its tables refer to each other too often");
}
