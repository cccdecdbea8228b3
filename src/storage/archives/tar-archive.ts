import { createReadStream } from "node:fs";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { failedPrecondition, ServingError } from "../../errors.ts";

/** One file of an archive; its bytes have to be read, or are skipped, before the next one comes. */
export interface TarEntry {
  /** With forward slashes; anything may stand here, so it is never used as a path unchecked. */
  readonly name: string;
  readonly bytes: number;
  chunks(): AsyncGenerator<Buffer>;
}

// Offsets and lengths in a header:
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, "ustar Interchange Format"
const BLOCK = 512;
const NAME = [0, 100] as const;
const SIZE = [124, 136] as const;
const CHECKSUM = [148, 156] as const;
const TYPE = 156;
const MAGIC = [257, 263] as const;
const PREFIX = [345, 500] as const;
/** More than any extended header of a package needs. */
const MAX_EXTENDED_BYTES = 1 << 20;
/** Of a record in one. */
const LENGTH = /^\d{1,7}$/;
const LINE_BREAK = 0x0a;
/** Headers, more than the largest layers of images have: one that compresses well takes no room. */
const MAX_HEADERS = 500_000;

/** Options of {@link readTarball}. */
export interface TarOptions {
  /** Default true. */
  readonly isGzipped?: boolean;
  /** Called for a link, device, pipe or the like, which is passed over, with its name; may throw. */
  readonly onOther?: (name: string, kind: string) => void;
  /** Ends the reading with its reason, amid entries that are passed over too. */
  readonly signal?: AbortSignal;
}

/** Types of regular files; contiguous ones count as such. */
const REGULAR = ["0", "\0", "7"];
/** Folders, with or without a list of their files, and the name of a whole archive. */
const PASSED_OVER = ["5", "D", "V"];
/** Headers that tell more about the next entry, its link, or all entries. */
const EXTENDED = ["x", "L", "K", "g"];

/** Kinds of other entries: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html */
const OTHERS: Readonly<Record<string, string>> = {
  1: "link",
  2: "symbolic link",
  3: "device",
  4: "device",
  6: "pipe",
  S: "sparse file (tar without --sparse packs it whole)",
};

/** Properties of an entry that headers before it have. */
interface Extended {
  readonly name?: string;
  readonly bytes?: number;
  readonly isSparse?: boolean;
}

/**
 * The regular files of a tar archive, in its order; folders are passed over, as is the
 * rest. Throws `data_loss` for one that is damaged or cut, `failed_precondition` for too many of them.
 */
export async function* readTarball(
  path: string,
  { isGzipped = true, onOther = () => {}, signal }: TarOptions = {},
): AsyncGenerator<TarEntry> {
  const file = createReadStream(path);
  // The reader of the stream receives errors too, but not one that comes after it has left.
  const stream = isGzipped ? pipeline(file, createGunzip(), () => {}).on("error", () => {}) : file;
  try {
    yield* readEntries(new BlockReader(stream), { onOther, signal });
  } finally {
    stream.destroy();
    file.destroy();
  }
}

interface ReadOptions {
  readonly onOther: (name: string, kind: string) => void;
  readonly signal: AbortSignal | undefined;
}

async function* readEntries(reader: BlockReader, { onOther, signal }: ReadOptions): AsyncGenerator<TarEntry> {
  let extended: Extended = {};
  for (let count = 0; ; count++) {
    signal?.throwIfAborted();
    if (count === MAX_HEADERS) throw failedPrecondition(`it has more than ${MAX_HEADERS} headers`);
    const header = await reader.take(BLOCK);
    if (header.every((byte) => byte === 0)) return await readToEnd(reader, signal);
    if (!isSound(header)) throw damaged();
    const type = String.fromCharCode(header[TYPE]!);
    if (EXTENDED.includes(type)) {
      extended = { ...extended, ...(await readExtended(type, header, reader)) };
      continue;
    }
    const { name = nameOf(header), bytes = sizeOf(header), isSparse = false } = extended;
    const kind = kindOf(isSparse ? "S" : type);
    if (kind !== undefined) onOther(name, kind);
    if (type === "S") await skipSparseMap(header, reader);
    const body = reader.open(bytes);
    if (kind === undefined && REGULAR.includes(type)) yield { name, bytes, chunks: () => body.chunks() };
    await body.skip();
    await reader.skip(padding(bytes));
    extended = {};
  }
}

async function readExtended(type: string, header: Buffer, reader: BlockReader): Promise<Extended> {
  const bytes = checkExtended(sizeOf(header));
  const data = await reader.take(bytes);
  await reader.skip(padding(bytes));
  if (type === "L") return { name: textAt(data, [0, bytes]) };
  return type === "x" ? toExtended(data) : {};
}

/** Undefined for regular files and folders. */
function kindOf(type: string): string | undefined {
  if (REGULAR.includes(type) || PASSED_OVER.includes(type)) return undefined;
  return OTHERS[type] ?? `file of the unknown type ${JSON.stringify(type)}`;
}

/** Of GNU's old form, in which the map goes on in blocks between header and content that the size does not count. */
async function skipSparseMap(header: Buffer, reader: BlockReader): Promise<void> {
  for (let goesOn = header[482]; goesOn; ) goesOn = (await reader.take(BLOCK))[504];
}

const padding = (bytes: number) => (BLOCK - (bytes % BLOCK)) % BLOCK;

function textAt(header: Buffer, [start, end]: readonly [number, number]): string {
  return header.toString("utf8", start, end).replace(/\0.*$/s, "");
}

/** GNU's form of 8 GB and more: the first bit set, the number in binary. */
function sizeOf(header: Buffer): number {
  const [start, end] = SIZE;
  if ((header[start]! & 0x80) === 0) return numberAt(header, SIZE);
  return Number(header.readBigUInt64BE(end - 8));
}

/** Octal digits. */
function numberAt(header: Buffer, range: readonly [number, number]): number {
  const text = textAt(header, range).trim();
  if (!/^[0-7]+$/.test(text)) throw damaged();
  return Number.parseInt(text, 8);
}

/** Compares a header with its checksum: the sum of its bytes, those of the sum itself counted as spaces. */
function isSound(header: Buffer): boolean {
  const [start, end] = CHECKSUM;
  const told = Number.parseInt(textAt(header, CHECKSUM), 8);
  // Zeros, of which there may be gigabytes, need not be added up.
  if (Number.isNaN(told)) return false;
  return told === header.reduce((total, byte, index) => total + (index >= start && index < end ? 32 : byte), 0);
}

/**
 * Reads what follows the files: gzip's checksum is at the very end. Other bytes than zeros may stand there, but no
 * further file, which a block of zeros in a damaged archive would hide.
 */
async function readToEnd(reader: BlockReader, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    const block = await reader.takeRest(BLOCK);
    if (block.length < BLOCK) return;
    if (isSound(block)) throw hidden();
  }
}

function hidden(): ServingError {
  const message =
    "it has files behind its end: it is damaged, or two archives in one. Pack all files into one archive.";
  return new ServingError("data_loss", message);
}

/** GNU's own form has times or a map in the place of the prefix. */
function nameOf(header: Buffer): string {
  const prefix = textAt(header, MAGIC) === "ustar" ? textAt(header, PREFIX) : "";
  return prefix === "" ? textAt(header, NAME) : `${prefix}/${textAt(header, NAME)}`;
}

function checkExtended(bytes: number): number {
  if (bytes > MAX_EXTENDED_BYTES) throw damaged();
  return bytes;
}

/** Of records such as `30 path=package/dist/index.js`, each with its length; the last one of a name counts. */
function toExtended(data: Buffer): Extended {
  const records = new Map(readRecords(data));
  const name = records.get("GNU.sparse.name") ?? records.get("path");
  const size = records.get("size") ?? "";
  const isSparse = [...records.keys()].some((key) => key.startsWith("GNU.sparse."));
  return {
    ...(name !== undefined && { name }),
    ...(/^\d{1,15}$/.test(size) && { bytes: Number(size) }),
    ...(isSparse && { isSparse }),
  };
}

/** By their lengths, as a value may hold what looks like another record. */
function* readRecords(data: Buffer): Generator<readonly [key: string, value: string]> {
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(" ", at);
    const length = data.toString("latin1", at, space);
    const end = at + (LENGTH.test(length) ? Number(length) : 0);
    const equals = data.indexOf("=", space);
    const isWhole = equals > space && equals < end && data[end - 1] === LINE_BREAK;
    if (!isWhole) throw damaged();
    yield [data.toString("utf8", space + 1, equals), data.toString("utf8", equals + 1, end - 1)];
    at = end;
  }
}

/** Reads a stream in pieces of a known length; throws {@link damaged} if it fails or ends before. */
class BlockReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** The next bytes in one buffer. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.open(count).chunks()) parts.push(part);
    return Buffer.concat(parts);
  }

  async skip(count: number): Promise<void> {
    await this.open(count).skip();
  }

  /** The next bytes as a stream, to be read once. */
  open(count: number): { chunks(): AsyncGenerator<Buffer>; skip(): Promise<void> } {
    let left = count;
    const next = async () => {
      const part = await this.#next(left);
      left -= part.length;
      return part;
    };
    async function* chunks() {
      while (left > 0) yield await next();
    }
    const skip = async () => {
      while (left > 0) await next();
    };
    return { chunks, skip };
  }

  /** The next bytes in one buffer, or those that are left at the end of the stream, which has to be a sound one. */
  async takeRest(most: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = most; left > 0 && (await this.#fill()); ) {
      const part = await this.#next(left);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async #next(most: number): Promise<Buffer> {
    if (!(await this.#fill())) throw damaged();
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** False at the end of the stream. */
  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next().catch((cause) => {
        throw damaged(cause);
      });
      if (done === true) return false;
      this.#rest = value;
    }
    return true;
  }
}

/** The error of an archive that cannot be read on. */
function damaged(cause?: unknown): ServingError {
  const message = "it is not a gzipped tar archive, or a damaged or cut one. Download it again.";
  return new ServingError("data_loss", message, cause === undefined ? {} : { cause });
}
