import { createReadStream } from "node:fs";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ServingError } from "../errors.ts";

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
const PREFIX = [345, 500] as const;
/** More than any extended header of a package needs. */
const MAX_EXTENDED_BYTES = 1 << 20;

/** Options of {@link readTarball}. */
export interface TarOptions {
  /** Default true. */
  readonly isGzipped?: boolean;
  /** Called for a link, device or pipe, which is passed over, with its name; may throw. */
  readonly onOther?: (name: string, kind: string) => void;
}

/** Kinds of entries without content: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html */
const OTHERS: Readonly<Record<string, string>> = {
  1: "link",
  2: "symbolic link",
  3: "device",
  4: "device",
  6: "pipe",
};

/**
 * The regular files of a tar archive, in its order; folders are passed over, as is the
 * rest. Throws `data_loss` for one that is damaged or cut.
 */
export async function* readTarball(
  path: string,
  { isGzipped = true, onOther = () => {} }: TarOptions = {},
): AsyncGenerator<TarEntry> {
  const file = createReadStream(path);
  // The reader of the stream receives errors too.
  const stream = isGzipped ? pipeline(file, createGunzip(), () => {}) : file;
  try {
    yield* readEntries(new BlockReader(stream), onOther);
  } finally {
    stream.destroy();
    file.destroy();
  }
}

async function* readEntries(
  reader: BlockReader,
  onOther: (name: string, kind: string) => void,
): AsyncGenerator<TarEntry> {
  let longName: string | undefined;
  let longSize: number | undefined;
  for (;;) {
    const header = await reader.take(BLOCK);
    if (header.every((byte) => byte === 0)) return;
    checkHeader(header);
    const type = String.fromCharCode(header[TYPE]!);
    const isExtended = type === "x" || type === "L";
    const bytes = (isExtended ? undefined : longSize) ?? sizeOf(header);
    if (isExtended) {
      const data = await reader.take(checkExtended(bytes));
      longName = toLongName(type, data) ?? longName;
      longSize = (type === "x" ? toLongSize(data) : undefined) ?? longSize;
      await reader.skip(padding(bytes));
      continue;
    }
    if (Object.hasOwn(OTHERS, type)) onOther(longName ?? nameOf(header), OTHERS[type] as string);
    const body = reader.open(bytes);
    if (type === "0" || type === "\0") yield { name: longName ?? nameOf(header), bytes, chunks: () => body.chunks() };
    await body.skip();
    await reader.skip(padding(bytes));
    longName = undefined;
    longSize = undefined;
  }
}

const padding = (bytes: number) => (BLOCK - (bytes % BLOCK)) % BLOCK;

function textAt(header: Buffer, [start, end]: readonly [number, number]): string {
  return header.toString("utf8", start, end).replace(/\0.*$/s, "");
}

/** GNU's form of 8 GB and more: the first bit set, the number in binary. */
function sizeOf(header: Buffer): number {
  const [start, end] = SIZE;
  if ((header[start]! & 0x80) === 0) return numberAt(header, SIZE);
  const bytes = header.readBigUInt64BE(end - 8);
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged();
  return Number(bytes);
}

/** Octal digits. */
function numberAt(header: Buffer, range: readonly [number, number]): number {
  const text = textAt(header, range).trim();
  if (!/^[0-7]+$/.test(text)) throw damaged();
  return Number.parseInt(text, 8);
}

/** The sum of the header's bytes, those of the sum itself counted as spaces. */
function checkHeader(header: Buffer): void {
  const [start, end] = CHECKSUM;
  const sum = header.reduce((total, byte, index) => total + (index >= start && index < end ? 32 : byte), 0);
  if (sum !== numberAt(header, CHECKSUM)) throw damaged();
}

function nameOf(header: Buffer): string {
  const prefix = textAt(header, PREFIX);
  return prefix === "" ? textAt(header, NAME) : `${prefix}/${textAt(header, NAME)}`;
}

function checkExtended(bytes: number): number {
  if (bytes > MAX_EXTENDED_BYTES) throw damaged();
  return bytes;
}

/** Of records such as `30 path=package/dist/index.js`, or GNU's plain text. */
function toLongName(type: "x" | "L", data: Buffer): string | undefined {
  const text = data.toString("utf8");
  if (type === "L") return text.replace(/\0.*$/s, "");
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(text)?.[1];
}

function toLongSize(data: Buffer): number | undefined {
  const digits = /(?:^|\n)\d+ size=(\d{1,15})\n/.exec(data.toString("utf8"))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Reads a stream in pieces of a known length. */
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

  async #next(most: number): Promise<Buffer> {
    if (this.#rest.length === 0) this.#rest = await this.#read();
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  async #read(): Promise<Buffer> {
    const { value, done } = await this.#chunks.next().catch((cause) => {
      throw damaged(cause);
    });
    if (done === true) throw damaged();
    return value;
  }
}

function damaged(cause?: unknown): ServingError {
  const message = "it is not a gzipped tar archive, or a damaged or cut one. Download it again.";
  return new ServingError("data_loss", message, cause === undefined ? {} : { cause });
}
