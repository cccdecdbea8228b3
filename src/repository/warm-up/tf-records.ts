import type { FileHandle } from "node:fs/promises";
import { crc32c, maskCrc32c, maskedCrc32c } from "../../drivers/tensorflow/portable/crc32c.ts";
import { ServingError } from "../../errors.ts";
import { withRegularFile } from "./open-regular-file.ts";

/** Bytes before a record: its length in 8, the masked CRC-32C of these in 4. */
const HEAD_BYTES = 12;
/** Bytes after a record: its masked CRC-32C. */
const TAIL_BYTES = 4;
/** Read at a time, so that the thread does other work in between. */
const PIECE_BYTES = 1024 * 1024;
const MAX_RECORD_BYTES = 2 ** 31 - 1;
const GZIP = 0x8b1f;

/**
 * Hands the records of a TFRecord file to `take`, one after the other, with their numbers from 1. Throws `data_loss` for a file that
 * is cut or has a wrong checksum, saying which record it is; `what` is the file in messages.
 */
export function readTfRecords(
  path: string,
  what: string,
  take: (record: Uint8Array, number: number) => Promise<void>,
): Promise<void> {
  return withRegularFile(path, what, async ({ file, size }) => {
    let position = 0;
    for (let number = 1; position < size; number++) {
      const place: RecordPlace = { file, size, position, fail: (problem) => damaged(what, number, problem) };
      const record = await readRecord(place);
      position += HEAD_BYTES + record.length + TAIL_BYTES;
      await take(record, number);
    }
  });
}

interface RecordPlace {
  readonly file: FileHandle;
  readonly size: number;
  readonly position: number;
  readonly fail: (problem: string) => ServingError;
}

async function readRecord({ file, size, position, fail }: RecordPlace): Promise<Uint8Array> {
  const left = size - position - HEAD_BYTES;
  if (left < 0) throw fail(`is cut after ${size - position} bytes`);
  const head = Buffer.alloc(HEAD_BYTES);
  await readInto(head, file, position, fail);
  if (position === 0 && head.readUInt16LE(0) === GZIP) throw fail("is compressed by gzip; expected plain records");
  if (maskedCrc32c(head.subarray(0, 8)) !== head.readUInt32LE(8)) throw fail("has a length with a wrong checksum");
  const length = head.readBigUInt64LE(0);
  if (length > BigInt(left - TAIL_BYTES))
    throw fail(`is cut: of its ${length} bytes and their checksum, ${left} bytes are there`);
  if (length > MAX_RECORD_BYTES) throw fail(`has ${length} bytes, more than ${MAX_RECORD_BYTES}`);
  const record = Buffer.allocUnsafeSlow(Number(length));
  const crc = await readInto(record, file, position + HEAD_BYTES, fail);
  const tail = Buffer.alloc(TAIL_BYTES);
  await readInto(tail, file, position + HEAD_BYTES + record.length, fail);
  if (maskCrc32c(crc) !== tail.readUInt32LE(0)) throw fail("has a wrong checksum");
  return record;
}

/** Fills a buffer from a place of the file; resolves with the CRC-32C of what was read. */
async function readInto(
  buffer: Buffer,
  file: FileHandle,
  position: number,
  fail: RecordPlace["fail"],
): Promise<number> {
  let [done, crc] = [0, 0];
  while (done < buffer.length) {
    const length = Math.min(PIECE_BYTES, buffer.length - done);
    const { bytesRead } = await file.read(buffer, done, length, position + done);
    if (bytesRead === 0) throw fail("is cut, since the file became shorter while it was read");
    crc = crc32c(buffer.subarray(done, done + bytesRead), crc);
    done += bytesRead;
  }
  return crc;
}

/** With the hint that TensorFlow Serving gives. */
function damaged(what: string, number: number, problem: string): ServingError {
  const text = `Record ${number} of ${what} ${problem}. Please verify your warmup data is in TFRecord format.`;
  return new ServingError("data_loss", text);
}
