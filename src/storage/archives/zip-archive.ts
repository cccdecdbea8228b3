import { type FileHandle, open } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import { ServingError } from "../../errors.ts";

/** One file of an archive. */
export interface ZipEntry {
  /** With forward slashes; anything may stand here, so it is never used as a path. */
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
  readonly compressedBytes: number;
  readonly isDeflated: boolean;
  readonly headerOffset: number;
  /** True for a symbolic link, whose content is its target. */
  readonly isLink: boolean;
}

// Offsets in the records: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.7, 4.3.12, 4.3.16
const END = { signature: 0x06054b50, bytes: 22, maxComment: 0xffff, count: 10, size: 12, offset: 16, comment: 20 };
const ENTRY = { signature: 0x02014b50, bytes: 46, flags: 8, method: 10, crc32: 16, compressed: 20, plain: 24 };
const ENTRY_LENGTHS = { name: 28, extra: 30, comment: 32, attributes: 38, headerOffset: 42 };
/** Mode of a symbolic link on Unix, which is in the upper half of the attributes. */
const LINK_MODE = 0o120000;
const MODE_MASK = 0o170000;
const LOCAL = { signature: 0x04034b50, bytes: 30, name: 26, extra: 28 };
const DEFLATED = 8;
const ENCRYPTED = 1;
const CHUNK_BYTES = 256 * 1024;
/** More than 65535 entries with usual names take. */
const MAX_DIRECTORY_BYTES = 32 * 1024 * 1024;

/** A zip file (wheel or jar) whose entries are read one by one, as streams. */
export class ZipArchive {
  readonly entries: readonly ZipEntry[];
  readonly #file: FileHandle;

  private constructor(file: FileHandle, entries: readonly ZipEntry[]) {
    this.#file = file;
    this.entries = entries;
  }

  /**
   * Throws `data_loss` for a file that is not a complete zip, and `unimplemented` for ZIP64, encryption and methods
   * other than deflate.
   */
  static async open(path: string): Promise<ZipArchive> {
    const file = await open(path);
    try {
      return new ZipArchive(file, await readDirectory(file));
    } catch (reason) {
      await file.close();
      throw reason;
    }
  }

  /**
   * Content of an entry, unpacked; fails with `data_loss` at the latest at its end, if its name, length or checksum
   * is another one than the directory says.
   */
  async read(entry: ZipEntry): Promise<Readable> {
    const header = await readAt(this.#file, entry.headerOffset, LOCAL.bytes);
    if (header.readUInt32LE(0) !== LOCAL.signature) throw damaged();
    const nameBytes = header.readUInt16LE(LOCAL.name);
    const name = await readAt(this.#file, entry.headerOffset + LOCAL.bytes, nameBytes);
    if (name.toString("utf8") !== entry.name) throw damaged();
    const start = entry.headerOffset + LOCAL.bytes + nameBytes + header.readUInt16LE(LOCAL.extra);
    const packed = readRange(this.#file, start, start + entry.compressedBytes);
    return Readable.from(checked(entry.isDeflated ? inflate(packed) : packed, entry));
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function readDirectory(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tailBytes = Math.min(size, END.bytes + END.maxComment);
  const tail = await readAt(file, size - tailBytes, tailBytes);
  const end = findEnd(tail);
  const [count, bytes, offset] = [
    end.readUInt16LE(END.count),
    end.readUInt32LE(END.size),
    end.readUInt32LE(END.offset),
  ];
  if (count === 0xffff || bytes === 0xffffffff || offset === 0xffffffff) throw refused("is a ZIP64 archive");
  if (offset + bytes > size || bytes > MAX_DIRECTORY_BYTES) throw damaged();
  const directory = await readAt(file, offset, bytes);
  const entries: ZipEntry[] = [];
  let at = 0;
  while (entries.length < count) {
    if (at + ENTRY.bytes > bytes || directory.readUInt32LE(at) !== ENTRY.signature) throw damaged();
    const length = (field: keyof typeof ENTRY_LENGTHS) => directory.readUInt16LE(at + ENTRY_LENGTHS[field]);
    const next = at + ENTRY.bytes + length("name") + length("extra") + length("comment");
    entries.push(toEntry(directory.subarray(at, next), length("name")));
    at = next;
  }
  // A count that is too low would hide files.
  if (at !== bytes) throw damaged();
  return entries;
}

/** The end record is followed by nothing but its comment. */
function findEnd(tail: Buffer): Buffer {
  for (let at = tail.length - END.bytes; at >= 0; at--) {
    const isEnd = tail.readUInt32LE(at) === END.signature;
    if (isEnd && at + END.bytes + tail.readUInt16LE(at + END.comment) === tail.length) return tail.subarray(at);
  }
  throw damaged();
}

function toEntry(record: Buffer, nameBytes: number): ZipEntry {
  const name = record.toString("utf8", ENTRY.bytes, ENTRY.bytes + nameBytes);
  const method = record.readUInt16LE(ENTRY.method);
  if (record.readUInt16LE(ENTRY.flags) & ENCRYPTED) throw refused("is encrypted");
  if (method !== 0 && method !== DEFLATED) throw refused(`holds "${name}", packed by method ${method}`);
  return {
    name,
    bytes: record.readUInt32LE(ENTRY.plain),
    crc32: record.readUInt32LE(ENTRY.crc32),
    compressedBytes: record.readUInt32LE(ENTRY.compressed),
    isDeflated: method === DEFLATED,
    headerOffset: record.readUInt32LE(ENTRY_LENGTHS.headerOffset),
    isLink: ((record.readUInt32LE(ENTRY_LENGTHS.attributes) >>> 16) & MODE_MASK) === LINK_MODE,
  };
}

function inflate(packed: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The reader of the stream receives errors too, but not one that comes after it has left.
  return pipeline(Readable.from(packed), createInflateRaw(), () => {}).on("error", () => {});
}

async function* checked(chunks: AsyncIterable<Buffer>, entry: ZipEntry): AsyncGenerator<Buffer> {
  let [bytes, checksum] = [0, 0];
  for await (const chunk of sound(chunks)) {
    bytes += chunk.length;
    if (bytes > entry.bytes) throw damaged();
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (bytes !== entry.bytes || checksum !== entry.crc32) throw differs(entry);
}

/** zlib has its own errors. */
async function* sound(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (reason) {
    throw reason instanceof ServingError ? reason : damaged(reason);
  }
}

async function* readRange(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; at += CHUNK_BYTES) yield readAt(file, at, Math.min(CHUNK_BYTES, end - at));
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw damaged();
  return buffer;
}

function damaged(cause?: unknown): ServingError {
  const message = "it is not a zip archive, or is damaged or cut. Download it again.";
  return new ServingError("data_loss", message, cause === undefined ? {} : { cause });
}

function differs({ name }: ZipEntry): ServingError {
  const message = `${JSON.stringify(name.slice(0, 200))} in it is damaged: it differs from its checksum. Download the file again.`;
  return new ServingError("data_loss", message);
}

function refused(what: string): ServingError {
  return new ServingError("unimplemented", `it ${what}, which is not read. Get it as its makers publish it.`);
}
