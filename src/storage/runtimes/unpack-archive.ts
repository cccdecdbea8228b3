import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { basename } from "node:path/posix";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { failedPrecondition, reasonText, ServingError, systemCode } from "../../errors.ts";
import { ZipArchive, type ZipEntry } from "../archives/zip-archive.ts";
import type { NativeRuntime } from "./native-runtimes.ts";
import type { Reporter } from "./reporter.ts";
import { checkSpace, type RuntimeManifest } from "./runtimes-folder.ts";

/** Options for unpacking an archive. */
interface UnpackOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/** The parts of a runtime that say which files of an archive are wanted. */
type Unpackable = Pick<NativeRuntime, "title" | "required" | "keeps">;

/** Files that came out of an archive. */
interface Unpacked {
  readonly files: RuntimeManifest["files"];
  /** The wheel's version; undefined for a jar, whose version is that of its Java part. */
  readonly version: string | undefined;
}

/**
 * Writes a runtime's libraries from a wheel or jar into a folder, each under its base name and compared with the
 * archive's checksums and, in a wheel, with the SHA-256 of its RECORD. Throws `data_loss` for what differs and
 * `failed_precondition` for an archive of something else.
 */
export async function unpackArchive(path: string, runtime: Unpackable, options: UnpackOptions): Promise<Unpacked> {
  let archive: ZipArchive | undefined;
  try {
    archive = await ZipArchive.open(path);
    return await unpack(archive, runtime, options);
  } catch (reason) {
    throw toArchiveError(reason, path);
  } finally {
    options.reporter.done();
    await archive?.close();
  }
}

async function unpack(archive: ZipArchive, runtime: Unpackable, options: UnpackOptions): Promise<Unpacked> {
  const entries = archive.entries.filter(({ name }) => runtime.keeps(name));
  checkComplete(entries, runtime);
  const totalBytes = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  await checkSpace(options.folder, totalBytes);
  const record = await readWheelRecord(archive);
  const files: Record<string, { bytes: number; sha256: string }> = {};
  let doneBytes = 0;
  for (const entry of entries) {
    const count = (bytes: number) => {
      doneBytes += bytes;
      options.reporter.progress(doneBytes, totalBytes);
    };
    const digest = await extract(archive, entry, { ...options, count });
    if (record !== undefined && record.sha256.get(entry.name) !== digest.toString("base64url")) throw damaged(entry);
    files[basename(entry.name)] = { bytes: entry.bytes, sha256: digest.toString("hex") };
  }
  return { files, version: record?.version };
}

function checkComplete(entries: readonly ZipEntry[], { title, required }: Unpackable): void {
  const names = entries.map(({ name }) => basename(name));
  if (required.every((pattern) => names.some((name) => pattern.test(name)))) return;
  const message = `it does not have the libraries of ${title} that are needed. Take another version or another file.`;
  throw failedPrecondition(message);
}

interface ExtractOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly count: (bytes: number) => void;
}

/** Writes one entry and returns its SHA-256. */
async function extract(
  archive: ZipArchive,
  entry: ZipEntry,
  { folder, signal, count }: ExtractOptions,
): Promise<Buffer> {
  const hash = createHash("sha256");
  async function* hashed(source: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      hash.update(chunk);
      count(chunk.length);
      yield chunk;
    }
  }
  const target = createWriteStream(join(folder, basename(entry.name)), { flags: "wx" });
  await pipeline(await archive.read(entry), hashed, target, { signal });
  return hash.digest();
}

function damaged({ name }: ZipEntry): ServingError {
  return new ServingError(
    "data_loss",
    `${name} in it is damaged: it differs from its checksum. Download the file again.`,
  );
}

/** Meanings of the system's and zlib's errors about an archive. */
const MEANINGS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file.",
  EISDIR: "it is a folder, which goes with --path DIR.",
  Z_DATA_ERROR: "it is damaged. Download it again.",
  Z_BUF_ERROR: "it is damaged. Download it again.",
};

/** Names the archive in errors; the callers name the disk or the abort. */
function toArchiveError(reason: unknown, path: string): unknown {
  const own = reason instanceof ServingError ? reason.code : undefined;
  const text = own === undefined ? MEANINGS[systemCode(reason)] : reasonText(reason);
  if (text === undefined || own === "resource_exhausted") return reason;
  return new ServingError(own ?? "failed_precondition", `${basename(path)}: ${text}`, { cause: reason });
}

/** A wheel's list of its files. */
interface WheelRecord {
  readonly version: string;
  /** base64url without padding, by path. */
  readonly sha256: ReadonlyMap<string, string>;
}

/**
 * Reads RECORD (https://packaging.python.org/specifications/recording-installed-packages); undefined in an archive that
 * is not a wheel.
 */
async function readWheelRecord(archive: ZipArchive): Promise<WheelRecord | undefined> {
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
