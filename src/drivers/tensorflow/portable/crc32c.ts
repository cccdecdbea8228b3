/** Castagnoli's polynomial, reversed. */
const POLYNOMIAL = 0x82f63b78;
/** Number that TensorFlow adds to a checksum stored next to the bytes that it covers. */
const MASK_DELTA = 0xa282ead8;

/** Eight tables, so that eight bytes are taken at a time. */
const TABLES = createTables();

function createTables(): Uint32Array[] {
  const first = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    return value;
  });
  const tables = [first];
  for (let index = 1; index < 8; index++) {
    const previous = tables[index - 1]!;
    tables.push(previous.map((value) => (value >>> 8) ^ first[value & 0xff]!));
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
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const at = (table: Uint32Array, index: number) => table[index & 0xff]!;
  let crc = ~before;
  let position = 0;
  for (; position + 8 <= bytes.length; position += 8) {
    const byte = (offset: number) => bytes[position + offset]!;
    crc =
      at(t7, crc ^ byte(0)) ^
      at(t6, (crc >>> 8) ^ byte(1)) ^
      at(t5, (crc >>> 16) ^ byte(2)) ^
      at(t4, (crc >>> 24) ^ byte(3)) ^
      at(t3, byte(4)) ^
      at(t2, byte(5)) ^
      at(t1, byte(6)) ^
      at(t0, byte(7));
  }
  for (; position < bytes.length; position++) crc = (crc >>> 8) ^ at(t0, crc ^ bytes[position]!);
  return ~crc >>> 0;
}
