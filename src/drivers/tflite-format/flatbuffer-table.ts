/** Elements of a list that is read as an array: V8 ends the process if one needs more memory than a thread has. */
const MAX_ELEMENTS = 4_000_000;

/** A table of a FlatBuffer: fields by number, each perhaps absent (https://flatbuffers.dev/internals). */
export class FlatbufferTable {
  readonly #bytes: DataView;
  readonly #position: number;

  constructor(bytes: DataView, position: number) {
    this.#bytes = bytes;
    this.#position = position;
  }

  /** The root table of a file. */
  static root(bytes: DataView): FlatbufferTable {
    return new FlatbufferTable(bytes, bytes.getUint32(0, true));
  }

  /** A signed byte; 0 if absent. */
  byte(field: number): number {
    const at = this.#field(field);
    return at === undefined ? 0 : this.#bytes.getInt8(at);
  }

  /** A 32-bit integer; 0 if absent. */
  int(field: number): number {
    const at = this.#field(field);
    return at === undefined ? 0 : this.#bytes.getInt32(at, true);
  }

  /** A text; empty if absent. */
  text(field: number): string {
    const at = this.#field(field);
    if (at === undefined) return "";
    const start = this.#follow(at);
    const { buffer, byteOffset } = this.#bytes;
    return Buffer.from(buffer, byteOffset + start + 4, this.#bytes.getUint32(start, true)).toString();
  }

  /** A list of bytes, viewed; empty if it is absent. */
  bytes(field: number): Uint8Array {
    const at = this.#field(field);
    if (at === undefined) return new Uint8Array(0);
    const start = this.#follow(at);
    const { buffer, byteOffset } = this.#bytes;
    return new Uint8Array(buffer, byteOffset + start + 4, this.#bytes.getUint32(start, true));
  }

  /** Checks that a field is there. */
  has(field: number): boolean {
    return this.#field(field) !== undefined;
  }

  /** The number of a list's elements; 0 if it is absent. */
  count(field: number): number {
    const at = this.#field(field);
    return at === undefined ? 0 : this.#bytes.getUint32(this.#follow(at), true);
  }

  /** A table within this one; undefined if it is absent. */
  table(field: number): FlatbufferTable | undefined {
    const at = this.#field(field);
    return at === undefined ? undefined : new FlatbufferTable(this.#bytes, this.#follow(at));
  }

  /**
   * Places of the elements of a list of 32-bit integers; none if it is absent. Throws RangeError for a list of
   * millions.
   */
  places(field: number): number[] {
    const at = this.#field(field);
    if (at === undefined) return [];
    const start = this.#follow(at);
    const length = this.#bytes.getUint32(start, true);
    if (length > MAX_ELEMENTS) throw new RangeError(`a list has ${length} elements`);
    return Array.from({ length }, (_, index) => start + 4 * (index + 1));
  }

  /** A list of 32-bit integers. */
  ints(field: number): number[] {
    return this.places(field).map((at) => this.#bytes.getInt32(at, true));
  }

  /** A list of tables. */
  tables(field: number): FlatbufferTable[] {
    return this.places(field).map((at) => new FlatbufferTable(this.#bytes, this.#follow(at)));
  }

  #follow(at: number): number {
    return at + this.#bytes.getUint32(at, true);
  }

  /** By the table's own list of offsets, which begins with its size. */
  #field(field: number): number | undefined {
    const list = this.#position - this.#bytes.getInt32(this.#position, true);
    const entry = 4 + 2 * field;
    if (entry >= this.#bytes.getUint16(list, true)) return undefined;
    const offset = this.#bytes.getUint16(list + entry, true);
    return offset === 0 ? undefined : this.#position + offset;
  }
}
