/**
 * Bits of the codes of all 256 bytes, each as a digit of base 36 (RFC 7541, appendix B). The code is canonical: codes
 * of equal length ascend with their bytes, and each length goes on where the one before it ended.
 */
const CODE_BITS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq";

/** Steps of four bits: 16 for each state, which is an inner node of the code's tree. */
const BITS_PER_STEP = 4;
const STEPS = 1 << BITS_PER_STEP;
/** A step's entry: the next state, the byte that it completes (the shortest code has five bits), and two marks. */
const STATE = 0xff;
const BYTE_SHIFT = 8;
const COMPLETES = 1 << 16;
/** On the way to the code for the end, which no text may contain (RFC 7541 §5.2). */
const IS_INVALID = 1 << 17;
/** Ends within at most seven bits of ones, which is padding (RFC 7541 §5.2). */
const MAX_PADDING_BITS = 7;

/** Children of each inner node N at 2 N and 2 N + 1: an inner node, -1 - byte, or 0 = there is none. */
const TREE = growTree();
const ENTRIES = Int32Array.from({ length: TREE.length * (STEPS / 2) }, (_, index) => toEntry(index));
const MAY_END = findEnds();

function growTree(): Int16Array {
  const tree = new Int16Array(2 * CODE_BITS.length);
  const codes = Array.from(CODE_BITS, (digit, byte) => ({ byte, bits: Number.parseInt(digit, 36) }));
  let nodes = 1;
  let next = 0;
  let bitsBefore = 0;
  for (const { byte, bits } of codes.sort((one, other) => one.bits - other.bits || one.byte - other.byte)) {
    next <<= bits - bitsBefore;
    bitsBefore = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const at = 2 * node + ((next >>> bit) & 1);
      if (tree[at] === 0) tree[at] = nodes++;
      node = tree[at] as number;
    }
    tree[2 * node + (next & 1)] = -1 - byte;
    next++;
  }
  return tree;
}

function toEntry(index: number): number {
  let node = index >>> BITS_PER_STEP;
  let marks = 0;
  for (let bit = BITS_PER_STEP - 1; bit >= 0; bit--) {
    const child = TREE[2 * node + ((index >>> bit) & 1)] as number;
    if (child < 0) marks |= COMPLETES | ((-1 - child) << BYTE_SHIFT);
    else if (child === 0) marks |= IS_INVALID;
    node = Math.max(0, child);
  }
  return marks | node;
}

function findEnds(): Uint8Array {
  const ends = new Uint8Array(STATE + 1);
  let node = 0;
  for (let bits = 0; bits <= MAX_PADDING_BITS; bits++) {
    ends[node] = 1;
    node = TREE[2 * node + 1] as number;
  }
  return ends;
}

/**
 * Decodes a text (RFC 7541 §5.2) into a buffer, which needs room for 8 bytes for each 5 of the text. Returns the number
 * of decoded bytes; -1 if the code is invalid: it contains the end, or padding that is too long or not of ones.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, into: Uint8Array): number {
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    const high = ENTRIES[state * STEPS + (byte >>> BITS_PER_STEP)] as number;
    if ((high & COMPLETES) !== 0) into[length++] = high >>> BYTE_SHIFT;
    const low = ENTRIES[(high & STATE) * STEPS + (byte & (STEPS - 1))] as number;
    if ((low & COMPLETES) !== 0) into[length++] = low >>> BYTE_SHIFT;
    if (((high | low) & IS_INVALID) !== 0) return -1;
    state = low & STATE;
  }
  return MAY_END[state] === 1 ? length : -1;
}
