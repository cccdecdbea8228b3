/** The reversed polynomial of Castagnoli: https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4 */
const POLYNOMIAL = 0x82f63b78;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value >>> 0;
});

/** CRC-32C of a file, of which the pieces come one after the other. */
export class Crc32c {
  #value = 0xffffffff;

  update(chunk: Uint8Array): void {
    let value = this.#value;
    for (const byte of chunk) value = (TABLE[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
    this.#value = value;
  }

  /** In base64, most significant byte first, as Google's and Amazon's storage have it. */
  digest(): string {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE((this.#value ^ 0xffffffff) >>> 0);
    return bytes.toString("base64");
  }
}
