import { text } from "node:stream/consumers";
import type { ZipArchive } from "../archives/zip-archive.ts";

/** A wheel's list of its files. */
export interface WheelRecord {
  readonly version: string;
  /** base64url without padding, by path. */
  readonly sha256: ReadonlyMap<string, string>;
}

/**
 * Reads RECORD (https://packaging.python.org/specifications/recording-installed-packages); undefined in an archive that
 * is not a wheel.
 */
export async function readWheelRecord(archive: ZipArchive): Promise<WheelRecord | undefined> {
  for (const entry of archive.entries) {
    const [, version] = /^[^/]+?-([^/-]+)\.dist-info\/RECORD$/.exec(entry.name) ?? [];
    if (version !== undefined) return { version, sha256: toHashes(await text(await archive.read(entry))) };
  }
  return undefined;
}

function toHashes(record: string): Map<string, string> {
  const lines = record.matchAll(/^(.*),sha256=([\w-]+)=*,\d*\r?$/gm);
  return new Map([...lines].map(([, path = "", hash = ""]) => [path, hash]));
}
