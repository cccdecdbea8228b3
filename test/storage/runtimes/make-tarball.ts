import { gzipSync } from "node:zlib";

/** One entry: a regular file unless its type says otherwise. */
export interface ToyEntry {
  readonly name: string;
  readonly text: string;
  readonly type?: string;
}

const BLOCK = 512;

/** A gzipped tar archive as npm packs it. */
export function makeTarball(entries: readonly ToyEntry[]): Buffer {
  return gzipSync(makeTar(entries));
}

/** The same without gzip. */
export function makeTar(entries: readonly ToyEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(toBlocks), Buffer.alloc(2 * BLOCK)]);
}

/** An extended header that names the entry after it. */
export function longName(name: string): ToyEntry {
  const record = ` path=${name}\n`;
  const bytes = record.length + String(record.length + 3).length;
  return { name: "PaxHeader", type: "x", text: `${bytes}${record}` };
}

function toBlocks({ name, text, type = "0" }: ToyEntry): Buffer[] {
  const body = Buffer.from(text);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(`${body.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write(type, 156);
  header.write("ustar\x0000", 257);
  writeSum(header);
  return [header, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)];
}

function writeSum(header: Buffer): void {
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
}

/** A changed archive whose headers have the sums of what they are now. */
export function withSums(tar: Buffer): Buffer {
  const changed = Buffer.from(tar);
  for (let at = 0; at + BLOCK <= changed.length; ) {
    const header = changed.subarray(at, at + BLOCK);
    const bytes = Number.parseInt(header.toString("latin1", 124, 136), 8);
    if (header[0] !== 0) writeSum(header);
    at += BLOCK + (bytes > 0 ? Math.ceil(bytes / BLOCK) * BLOCK : 0);
  }
  return changed;
}
