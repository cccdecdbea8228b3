/**
 * The elements of a `bytes` tensor as ranges of one block of bytes: millions of them cost 8 bytes each, where a
 * Uint8Array costs over 100.
 */
export interface PackedBytes {
  /** Block that holds the elements, in any order and with any gaps. */
  readonly content: Uint8Array;
  /** Start and end of each element in {@link content}. */
  readonly ranges: Uint32Array;
  /** Sum of the elements' lengths. */
  readonly byteLength: number;
}

const PACKED = Symbol("packed");

/** Remembers the packed elements of a tensor that was not unpacked yet, or forgets them. */
export function setPacked(tensor: object, packed: PackedBytes | undefined): void {
  Object.defineProperty(tensor, PACKED, { value: packed, configurable: true });
}

/** The elements of a tensor that is still packed, else undefined. */
export function packedOf(tensor: object): PackedBytes | undefined {
  return (tensor as { readonly [PACKED]?: PackedBytes })[PACKED];
}

/** Checks if the memory of packed elements was transferred to another thread. */
export function isGone({ content, byteLength }: PackedBytes): boolean {
  return content.length === 0 && byteLength > 0;
}
