import type { FileHandle } from "node:fs/promises";
import { crc32c, maskCrc32c, maskedCrc32c } from "../tensor/codecs/crc32c.ts";
import { type OpenFile, openRegularFile, readError, withRegularFile } from "./open-regular-file.ts";

/** Bytes before a record: its length in 8 bytes, and the masked CRC-32C of these in 4. */
const HEAD_BYTES = 12;
/** Bytes after a record: its masked CRC-32C. */
const TAIL_BYTES = 4;
/** Bytes to read at a time, so that the thread does other work in between. */
const PIECE_BYTES = 1024 * 1024;
const MAX_RECORD_BYTES = 2 ** 31 - 1;
const GZIP = 0x8b1f;

/** One record of a TFRecord file. */
export interface TfRecord {
  readonly bytes: Uint8Array;
  /** From 1. */
  readonly number: number;
  /** Its offset in the file, in bytes. */
  readonly offset: number;
}

/** A damaged record. */
export interface Damage extends Omit<TfRecord, "bytes"> {
  /** The problem, to follow the record's name in a message: `has a wrong checksum`. */
  readonly problem: string;
}

/**
 * Reads the records of a TFRecord file in order; `what` names the file in messages. `onDamage` is called with each
 * problem, and may throw. Otherwise a record with a wrong checksum is skipped, and a file ends where it is cut,
 * or a length is wrong. Throws `failed_precondition` for a file that cannot be read.
 */
export async function* tfRecords(
  path: string,
  what: string,
  onDamage: (damage: Damage) => void,
): AsyncGenerator<TfRecord> {
  const { file, size } = await openRegularFile(path, what);
  try {
    let offset = 0;
    for (let number = 1; offset < size; number++) {
      const read = await readRecord({ file, size, offset });
      if (read.problem !== undefined) onDamage({ number, offset, problem: read.problem });
      else yield { bytes: read.bytes, number, offset };
      if (read.end === undefined) return;
      offset = read.end;
    }
  } catch (reason) {
    throw readError(what, reason);
  } finally {
    await file.close();
  }
}

/** Checks if a file begins as TFRecord files do; false for an empty one. */
export function isTfRecordFile(path: string, what: string): Promise<boolean> {
  return withRegularFile(path, what, async ({ file, size }) => {
    const head = Buffer.alloc(HEAD_BYTES);
    if (size < HEAD_BYTES + TAIL_BYTES) return false;
    await readInto(head, file, 0);
    return maskedCrc32c(head.subarray(0, 8)) === head.readUInt32LE(8);
  });
}

/** A record and its end; or a problem, and the start of the next record if that is known. */
type ReadRecord =
  | { readonly bytes: Uint8Array; readonly end: number; readonly problem?: undefined }
  | { readonly problem: string; readonly end?: number };

async function readRecord({ file, size, offset }: OpenFile & { readonly offset: number }): Promise<ReadRecord> {
  const left = size - offset - HEAD_BYTES;
  if (left < 0) return { problem: `is cut after ${size - offset} bytes` };
  const head = Buffer.alloc(HEAD_BYTES);
  if ((await readInto(head, file, offset)) === undefined) return SHORTENED;
  if (offset === 0 && head.readUInt16LE(0) === GZIP)
    return { problem: "is compressed by gzip; expected plain records" };
  if (maskedCrc32c(head.subarray(0, 8)) !== head.readUInt32LE(8))
    return { problem: "has a length with a wrong checksum" };
  const length = head.readBigUInt64LE(0);
  if (length > BigInt(left - TAIL_BYTES))
    return { problem: `is cut: of its ${length} bytes and their checksum, ${left} bytes are there` };
  if (length > MAX_RECORD_BYTES) return { problem: `has ${length} bytes, more than ${MAX_RECORD_BYTES}` };
  return readContent({ file, size, offset: offset + HEAD_BYTES }, Number(length));
}

const SHORTENED = { problem: "is cut, since the file became shorter while it was read" } as const;

async function readContent({ file, offset }: OpenFile & { readonly offset: number }, length: number) {
  const bytes = Buffer.allocUnsafeSlow(length);
  const crc = await readInto(bytes, file, offset);
  const tail = Buffer.alloc(TAIL_BYTES);
  if (crc === undefined || (await readInto(tail, file, offset + length)) === undefined) return SHORTENED;
  const end = offset + length + TAIL_BYTES;
  return maskCrc32c(crc) === tail.readUInt32LE(0) ? { bytes, end } : { problem: "has a wrong checksum", end };
}

/**
 * Fills a buffer from an offset in the file; resolves with the CRC-32C of the bytes, undefined at the end of the file.
 */
async function readInto(buffer: Buffer, file: FileHandle, position: number): Promise<number | undefined> {
  let [done, crc] = [0, 0];
  while (done < buffer.length) {
    const length = Math.min(PIECE_BYTES, buffer.length - done);
    const { bytesRead } = await file.read(buffer, done, length, position + done);
    if (bytesRead === 0) return undefined;
    crc = crc32c(buffer.subarray(done, done + bytesRead), crc);
    done += bytesRead;
  }
  return crc;
}
