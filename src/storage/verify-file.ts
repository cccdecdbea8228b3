import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { crc32c } from "../codecs/crc32c.ts";
import type { Checksum } from "./storage-client.ts";

/** Compares a file of this size with a checksum, as it is on the disk. */
export async function verifyFile(path: string, bytes: number, { algorithm, value }: Checksum): Promise<boolean> {
  const found = await digestFile(path, bytes, algorithm);
  return algorithm === "crc32c" ? found === value : found === value.toLowerCase();
}

async function digestFile(path: string, bytes: number, algorithm: Checksum["algorithm"]): Promise<string> {
  const chunks = createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  if (algorithm === "crc32c") {
    let crc = 0;
    for await (const chunk of chunks) crc = crc32c(chunk, crc);
    const digest = Buffer.alloc(4);
    digest.writeUInt32BE(crc);
    return digest.toString("base64");
  }
  const hash = createHash(algorithm === "git" ? "sha1" : algorithm);
  if (algorithm === "git") hash.update(`blob ${bytes}\0`);
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}
