import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { failedPrecondition, reasonText, ServingError, systemCode } from "../../errors.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { readTarball } from "../archives/tar-archive.ts";
import { ZipArchive } from "../archives/zip-archive.ts";
import { localName } from "../local-name.ts";

const KINDS = [
  { ending: /\.zip$/i, unpack: unpackZip },
  { ending: /\.(?:tar\.gz|tgz)$/i, unpack: unpackTarball },
  { ending: /\.tar$/i, unpack: unpackTar },
];

/** An archive and the folder for its files. */
interface Unpacking extends UnpackLimits {
  readonly folder: string;
  /** Its files outside of this folder, and links and devices there, are passed over. */
  readonly within?: string | undefined;
  /** For a layer of an image: those above it, which have been unpacked. */
  readonly upper?: UpperLayers | undefined;
}

/** Checks if a name is that of an archive that can be unpacked. */
export function isArchiveName(name: string): boolean {
  return KINDS.some(({ ending }) => ending.test(name));
}

/**
 * Unpacks an archive, whose kind its ending tells, and returns the size of its files. Nothing is written outside the
 * folder. Throws `failed_precondition` for links, devices, names that leave the folder, and too much content;
 * `data_loss` for a damaged archive.
 */
export async function unpackArchive(path: string, unpacking: Unpacking): Promise<number> {
  const files = new UnpackedFiles(unpacking.folder, unpacking);
  try {
    await KINDS.find(({ ending }) => ending.test(path))?.unpack(path, files, unpacking);
  } catch (reason) {
    if (unpacking.signal.aborted) throw unpacking.signal.reason;
    if (reason instanceof ServingError)
      throw new ServingError(reason.code, `in the archive, ${reason.message}`, { cause: reason });
    if ("syscall" in (reason as Error)) throw reason;
    throw new ServingError("data_loss", `the archive is damaged or cut: ${reasonText(reason)}`, { cause: reason });
  }
  return files.bytes;
}

function unpackTarball(path: string, files: UnpackedFiles, unpacking: Unpacking): Promise<void> {
  return unpackTar(path, files, unpacking, true);
}

async function unpackTar(
  path: string,
  files: UnpackedFiles,
  { within = "", upper, signal }: Unpacking,
  isGzipped = false,
): Promise<void> {
  const isTaken = (name: string) => upper?.takes(name, within) ?? isWithin(name, within);
  const onOther = (name: string, kind: string) => {
    if (isTaken(name)) throw notAFile(name, kind);
  };
  for await (const { name, chunks } of readTarball(path, { isGzipped, onOther, signal }))
    if (isTaken(name)) await files.write(name, chunks());
  upper?.endLayer();
}

async function unpackZip(path: string, files: UnpackedFiles, { within = "" }: Unpacking): Promise<void> {
  const archive = await ZipArchive.open(path);
  try {
    for (const entry of archive.entries.filter(({ name }) => !name.endsWith("/") && isWithin(name, within))) {
      if (entry.isLink) throw notAFile(entry.name, "link");
      await files.write(entry.name, (await archive.read(entry)) as AsyncIterable<Buffer>);
    }
  } finally {
    await archive.close();
  }
}

/** Names that a Mac packs beside the files: their resource forks, and the look of its folders. */
const OF_A_MAC = /(?:^|\/)(?:__MACOSX(?:\/|$)|\._[^/]*$|\.DS_Store$)/;

function isWithin(name: string, folder: string): boolean {
  return !OF_A_MAC.test(name) && name.replace(/^(?:\.?\/)+/, "").startsWith(folder);
}

function notAFile(name: string, kind: string): ServingError {
  const shown = JSON.stringify(name.slice(0, 200));
  return failedPrecondition(
    `${shown} is a ${kind}, which is not unpacked. Pack regular files alone, as tar --dereference --hard-dereference does`,
  );
}

/** Maximum number of files in an archive. */
const MAX_FILES = 10_000;

/** Limits of an archive's content. */
interface UnpackLimits {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Writes the files of an archive into a folder, as far as its limits let it. */
class UnpackedFiles {
  /** Of all files that were written. */
  bytes = 0;
  #count = 0;
  readonly #folder: string;
  readonly #limits: UnpackLimits;

  constructor(folder: string, limits: UnpackLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** A file of the same name is replaced. Throws `failed_precondition` for a name or size that is refused. */
  async write(name: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    if (++this.#count > MAX_FILES) throw failedPrecondition(`there are more than ${MAX_FILES} files`);
    const target = join(this.#folder, localName(name));
    try {
      await mkdir(dirname(target), { recursive: true });
      const counted = Readable.from(this.#counted(chunks));
      await pipeline(counted, createWriteStream(target), { signal: this.#limits.signal });
    } catch (reason) {
      if (!["EEXIST", "ENOTDIR", "EISDIR"].includes(systemCode(reason))) throw reason;
      throw failedPrecondition(`${JSON.stringify(name.slice(0, 200))} is a file and a folder at once`, reason);
    }
  }

  async *#counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      if (this.bytes > this.#limits.maxBytes) throw tooMuch(this.#limits.maxBytes);
      yield chunk;
    }
  }
}

function tooMuch(maxBytes: number): ServingError {
  return failedPrecondition(
    `the files have more than ${sizeText(maxBytes)}, which is more than archives of this size contain, or than --model-cache-size`,
  );
}

const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";
/** Maximum number of files and whiteouts of one layer. */
const MAX_NAMES = 10_000;
/** Longer names cannot be files. */
const MAX_LENGTH = 4096;

/**
 * The names in the layers of an image that have been unpacked, from the last layer to the first: below them no file is
 * taken that they replace or remove. https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
 */
export class UpperLayers {
  readonly #taken = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #own = new Set<string>();

  /** Checks if a layer's file is the image's, and below a folder such as `models/`; whiteouts never are. */
  takes(entry: string, within: string): boolean {
    const name = entry.replace(/^(?:\.?\/)+/, "");
    const hidden = hiddenBy(name);
    const place = hidden === undefined ? name : hidden && `${hidden}/`;
    const isNear = place.startsWith(within) || (hidden !== undefined && within.startsWith(place));
    if (!isNear) return false;
    if (name.length > MAX_LENGTH) throw failedPrecondition(`a name in a layer has more than ${MAX_LENGTH} letters`);
    if (hidden === undefined && this.#has(name)) return false;
    if (this.#own.size === MAX_NAMES) throw failedPrecondition(`a layer has more than ${MAX_NAMES} files`);
    this.#own.add(hidden ?? name);
    return hidden === undefined;
  }

  /** Ends a layer: a whiteout counts for the layers below its own alone. */
  endLayer(): void {
    for (const name of this.#own) {
      this.#taken.add(name);
      for (const folder of foldersOf(name)) this.#folders.add(folder);
    }
    this.#own.clear();
  }

  #has(name: string): boolean {
    if (this.#taken.has("") || this.#taken.has(name) || this.#folders.has(name)) return true;
    for (const folder of foldersOf(name)) if (this.#taken.has(folder)) return true;
    return false;
  }
}

/** The file or folder that a whiteout removes, the empty name for all; undefined for a file. */
function hiddenBy(name: string): string | undefined {
  const start = name.lastIndexOf("/") + 1;
  if (name.slice(start) === OPAQUE) return name.slice(0, Math.max(0, start - 1));
  return name.startsWith(WHITEOUT, start) ? name.slice(0, start) + name.slice(start + WHITEOUT.length) : undefined;
}

function* foldersOf(name: string): Generator<string> {
  for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) yield name.slice(0, at);
}
