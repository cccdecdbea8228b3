import { expect, it } from "vitest";
import { crc32c, maskedCrc32c } from "../../../src/tensor/codecs/crc32c.ts";

/** One bit after the other, as the checksum is defined. */
function reference(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

it("is that of the examples of RFC 3720, and masked as TensorFlow does it", () => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
  expect(crc32c(new Uint8Array())).toBe(0);
  expect(maskedCrc32c(new Uint8Array())).toBe(0xa282ead8);
});

it("is the same wherever the bytes lie, and in whatever parts they come", () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index * 37 + (index >> 3));
  for (let start = 0; start < 9; start++) {
    for (let end = start; end < start + 40; end++) {
      const part = bytes.subarray(start, end);
      expect(crc32c(part)).toBe(reference(part));
      expect(crc32c(bytes.subarray(end), crc32c(part))).toBe(reference(bytes.subarray(start)));
    }
  }
});
