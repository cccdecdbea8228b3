import { crc32, deflateRawSync } from "node:zlib";

/** Options of a zip file. */
export interface ZipOptions {
  /** Written into the records in place of what is true; flags as in the format, method by its number. */
  readonly lie?: {
    readonly bytes?: number;
    readonly crc32?: number;
    readonly method?: number;
    readonly flags?: number;
  };
  readonly stored?: boolean;
  /** Behind each name, and behind that in the directory as the file's comment too. */
  readonly extra?: string;
  /** The mode of all files on Unix. Default: none. */
  readonly mode?: number;
  /** Behind the end record. */
  readonly comment?: string;
}

/** A zip file of the given files: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT. */
export function makeZip(files: Readonly<Record<string, string | Uint8Array>>, options: ZipOptions = {}): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const entry = makeEntry(name, Buffer.from(content), offset, options);
    bodies.push(entry.body);
    directory.push(entry.record);
    offset += entry.body.length;
  }
  return Buffer.concat([...bodies, ...directory, makeEnd(directory, offset, options.comment ?? "")]);
}

function makeEntry(
  name: string,
  plain: Buffer,
  offset: number,
  { lie = {}, stored = false, extra = "", mode = 0 }: ZipOptions,
) {
  const packed = stored ? plain : deflateRawSync(plain);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(lie.flags ?? 0, 2);
  fields.writeUInt16LE(lie.method ?? (stored ? 0 : 8), 4);
  fields.writeUInt32LE(lie.crc32 ?? crc32(plain), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(lie.bytes ?? plain.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(name), 22);
  fields.writeUInt16LE(extra.length, 24);
  const place = Buffer.alloc(14);
  place.writeUInt16LE(extra.length, 0);
  place.writeUInt16LE(mode, 8);
  place.writeUInt32LE(offset, 10);
  const local = [Buffer.from("PK\x03\x04"), fields, Buffer.from(name + extra), packed];
  const record = [Buffer.from("PK\x01\x02"), Buffer.alloc(2), fields, place, Buffer.from(name + extra + extra)];
  return { body: Buffer.concat(local), record: Buffer.concat(record) };
}

function makeEnd(directory: readonly Buffer[], offset: number, comment: string): Buffer {
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([end, Buffer.from(comment)]);
}
