/** Castagnoli's polynomial, reversed. */
const POLYNOMIAL = 0x82f63b78;
/** Number that TensorFlow adds to a checksum stored next to the bytes that it covers. */
const MASK_DELTA = 0xa282ead8;

const TABLE_SIZE = 256;
/** Number of bytes per step, each with its own table. */
const STEP = 8;

/** The tables, one after the other: that of the last byte of a step is the first. */
const TABLES = createTables();

function createTables(): Int32Array {
  const tables = new Int32Array(STEP * TABLE_SIZE);
  for (let byte = 0; byte < TABLE_SIZE; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    tables[byte] = value;
  }
  for (let index = TABLE_SIZE; index < tables.length; index++) {
    const value = tables[index - TABLE_SIZE]!;
    tables[index] = (value >>> 8) ^ tables[value & 0xff]!;
  }
  return tables;
}

/** The CRC-32C of bytes, masked as TensorFlow stores it. */
export function maskedCrc32c(bytes: Uint8Array): number {
  return maskCrc32c(crc32c(bytes));
}

/** A CRC-32C as TensorFlow stores it. */
export function maskCrc32c(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

/** The CRC-32C of bytes that follow others, whose own is `before`. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  // Numbers of 32 bits begin at multiples of 4.
  const head = Math.min(bytes.length, -bytes.byteOffset & 3);
  const steps = Math.floor((bytes.length - head) / STEP);
  const words = steps === 0 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + head, 2 * steps);
  const tail = head + steps * STEP;
  return ~overBytes(bytes.subarray(tail), overWords(words, overBytes(bytes.subarray(0, head), ~before))) >>> 0;
}

const NO_WORDS = new Int32Array(0);

function overBytes(bytes: Uint8Array, before: number): number {
  let crc = before;
  for (let position = 0; position < bytes.length; position++) {
    crc = (crc >>> 8) ^ TABLES[(crc ^ bytes[position]!) & 0xff]!;
  }
  return crc;
}

/** Reading two numbers instead of eight bytes is four times as fast. */
function overWords(words: Int32Array, before: number): number {
  let crc = before;
  for (let position = 0; position < words.length; position += 2) {
    const first = words[position]! ^ crc;
    const second = words[position + 1]!;
    crc =
      TABLES[0x700 + (first & 0xff)]! ^
      TABLES[0x600 + ((first >>> 8) & 0xff)]! ^
      TABLES[0x500 + ((first >>> 16) & 0xff)]! ^
      TABLES[0x400 + (first >>> 24)]! ^
      TABLES[0x300 + (second & 0xff)]! ^
      TABLES[0x200 + ((second >>> 8) & 0xff)]! ^
      TABLES[0x100 + ((second >>> 16) & 0xff)]! ^
      TABLES[second >>> 24]!;
  }
  return crc;
}
