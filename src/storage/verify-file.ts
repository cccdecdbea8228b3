import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Crc32c } from "./crc32c.ts";
import type { Checksum } from "./storage-client.ts";

/** Compares a file of this size with a checksum, as it is on the disk. */
export async function verifyFile(path: string, bytes: number, { algorithm, value }: Checksum): Promise<boolean> {
  const found = await digestFile(path, bytes, algorithm);
  return algorithm === "crc32c" ? found === value : found === value.toLowerCase();
}

async function digestFile(path: string, bytes: number, algorithm: Checksum["algorithm"]): Promise<string> {
  const chunks = createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  if (algorithm === "crc32c") {
    const crc = new Crc32c();
    for await (const chunk of chunks) crc.update(chunk);
    return crc.digest();
  }
  const hash = createHash(algorithm === "git" ? "sha1" : algorithm);
  if (algorithm === "git") hash.update(`blob ${bytes}\0`);
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}
