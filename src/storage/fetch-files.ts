import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failedPrecondition, invalidArgument, type ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { CachedFolder, ModelCache } from "./cache/model-cache.ts";
import { DownloadProgress, type DownloadState, downloadFile } from "./download-file.ts";
import { fingerprintFiles } from "./listings.ts";
import { localName } from "./local-name.ts";
import type { FoundFiles } from "./objects/find-files.ts";
import { schemeOf } from "./remote-address.ts";
import type { ArchiveContent, RemoteFile, StorageAddress } from "./storage-client.ts";
import { isArchiveName, UpperLayers, unpackArchive } from "./unpack/unpack-archive.ts";

/** Files that are downloaded at a time. */
const CONCURRENCY = 4;
/**
 * An archive of models never unpacks to more than this many times its size, nor, if it
 * is small, to more than so many bytes.
 */
const MAX_RATIO = 200;
const SMALL_ARCHIVE_BYTES = 1024 ** 3;

/** Files to be fetched. */
interface FetchOptions {
  readonly address: StorageAddress;
  readonly found: FoundFiles;
  readonly cache: ModelCache;
  /** Of the cache; 0 = no limit. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onDownload?: ((state: DownloadState) => void) | undefined;
}

/**
 * Has the files in the cache, and returns the path there that stands for the address. Throws `invalid_argument` for a
 * checksum with a folder.
 */
export async function fetchFiles(options: FetchOptions): Promise<CachedFolder> {
  const { address, found, cache } = options;
  if (address.sha256 !== undefined && found.isFolder) throw notOneFile(address.title);
  const bytes = found.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const name = entryName(address, found);
  const { path, release } = await cache.open({
    name,
    source: address.title,
    bytes,
    fill: (folder) => fill(folder, options),
  });
  const content = join(path, CONTENT);
  if (isArchive(options) || found.files.some((file) => file.archive !== undefined))
    return { path: await innermost(content), release };
  return { path: found.isFolder ? content : join(content, basename(address.key)), release };
}

const CONTENT = "content";

/** For people the last parts of the address, for us its hash and that of the files. */
function entryName({ title, key, sha256 = "" }: StorageAddress, { files }: FoundFiles): string {
  const hash = createHash("sha256")
    .update(`${title}\0${sha256}\0${fingerprintFiles(files)}`)
    .digest("hex");
  const readable = key
    .split("/")
    .slice(-2)
    .join("-")
    .replace(/[^\w.-]/g, "_")
    .slice(0, 60);
  return `${readable || "model"}-${hash.slice(0, 24)}`;
}

function isArchive({ address, found }: FetchOptions): boolean {
  return !found.isFolder && isArchiveName(address.key);
}

async function fill(folder: string, options: FetchOptions): Promise<number> {
  const { address, found } = options;
  const progress = new DownloadProgress({ ...options, files: found.files });
  const wanted = isArchive(options) ? found.files.filter(({ key }) => key === address.key) : found.files;
  try {
    await fetchAll(wanted, { folder, progress }, options);
    const bytes = await unpackAll(wanted, folder, options).catch(async (reason: unknown) => {
      // The next attempt unpacks it again, if there is one.
      await rm(join(folder, CONTENT), { recursive: true, force: true });
      throw reason;
    });
    progress.end();
    return bytes;
  } finally {
    progress.stop();
  }
}

async function fetchAll(files: readonly RemoteFile[], target: Target, options: FetchOptions): Promise<void> {
  const rest = [...files];
  const next = async (): Promise<void> => {
    for (let file = rest.shift(); file !== undefined; file = rest.shift()) await fetchOne(file, target, options);
  };
  await allOrFirstError(Array.from({ length: CONCURRENCY }, next));
}

/** Waits for all, so that none writes into the folder later. */
async function allOrFirstError(steps: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(steps);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

interface Target {
  readonly folder: string;
  readonly progress: DownloadProgress;
}

async function fetchOne(file: RemoteFile, { folder, progress }: Target, options: FetchOptions): Promise<void> {
  const { address, found, signal } = options;
  const isOwn = file.key === address.key;
  // Of files whose sizes are not known, all together.
  const maxBytes = options.maxBytes && Math.max(1, options.maxBytes - progress.done);
  const target = join(
    folder,
    archiveOf(file, options) === undefined ? CONTENT : PACKED,
    relativeName(file, address, found),
  );
  const sha256 = isOwn ? address.sha256 : undefined;
  const onBytes = (count: number) => progress.add(count);
  const part = join(dirname(folder), "parts", createHash("sha256").update(file.key).digest("hex"));
  await downloadFile({ place: address.open(), file, target, part, maxBytes, signal, sha256, onBytes });
}

const PACKED = "packed";

function archiveOf(file: RemoteFile, options: FetchOptions): ArchiveContent | undefined {
  return isArchive(options) ? {} : file.archive;
}

function relativeName({ key }: RemoteFile, address: StorageAddress, { isFolder }: FoundFiles): string {
  const root = isFolder ? address.key : dirname(address.key).replace(/^\.$/, "");
  return localName(root === "" ? key : key.slice(root.length + 1));
}

/** Unpacks the archives in their order, layers from the last one, and removes them; returns the size of everything. */
async function unpackAll(files: readonly RemoteFile[], folder: string, options: FetchOptions): Promise<number> {
  const { address, found, maxBytes, signal } = options;
  const upper = new UpperLayers();
  const isImage = files.some(({ archive }) => archive?.isLayer);
  let bytes = 0;
  for (const file of isImage ? files.toReversed() : files) {
    const content = archiveOf(file, options);
    const path = join(folder, content === undefined ? CONTENT : PACKED, relativeName(file, address, found));
    const { size } = await stat(path);
    if (content === undefined) bytes += size;
    else {
      const most = Math.max(SMALL_ARCHIVE_BYTES, MAX_RATIO * size);
      const limits = { maxBytes: maxBytes === 0 ? most : Math.min(most, maxBytes), signal };
      bytes += await unpackArchive(path, {
        folder: join(folder, CONTENT),
        ...limits,
        ...content,
        ...(isImage && { upper }),
      });
    }
  }
  await rm(join(folder, PACKED), { recursive: true, force: true });
  // Layers of an image without the folder for models leave nothing.
  await mkdir(join(folder, CONTENT), { recursive: true });
  if ((await readdir(join(folder, CONTENT))).length === 0) throw failedPrecondition("there is no file in it");
  return bytes;
}

/** A folder that has nothing but another folder in it, as archives often have, stands for that one. */
async function innermost(folder: string): Promise<string> {
  const [only, ...others] = await readdir(folder, { withFileTypes: true });
  if (only === undefined || others.length > 0 || !only.isDirectory()) return folder;
  return innermost(join(folder, only.name));
}

/** Names for all files of a place, for which one checksum cannot stand. */
const WHOLE: Readonly<Record<string, string>> = {
  oci: "; the digest of all is named by oci://REGISTRY/REPOSITORY@sha256:HEX",
  hf: "; the commit of all is named by hf://OWNER/NAME@COMMIT",
};

/** The error of a folder with a checksum, which would be compared with nothing. */
function notOneFile(title: string): ServingError {
  const whole = WHOLE[schemeOf(title) ?? ""] ?? "";
  return invalidArgument(
    `#sha256= is the checksum of one file, and this is a folder. Give the address of a file or an archive${whole}`,
  );
}
