import { crc32c, maskCrc32c, maskedCrc32c } from "../codecs/crc32c.ts";

/** Bytes before a record: its length in 8, the masked CRC-32C of these in 4. */
const HEAD_BYTES = 12;
/** Bytes after a record: its masked CRC-32C. */
const TAIL_BYTES = 4;

/** A message as a record of a TFRecord file: https://www.tensorflow.org/tutorials/load_data/tfrecord */
export function frameRecord(message: Uint8Array): Uint8Array {
  const record = Buffer.allocUnsafe(HEAD_BYTES + message.length + TAIL_BYTES);
  record.writeBigUInt64LE(BigInt(message.length), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(message, HEAD_BYTES);
  record.writeUInt32LE(maskCrc32c(crc32c(message)), HEAD_BYTES + message.length);
  return record;
}
