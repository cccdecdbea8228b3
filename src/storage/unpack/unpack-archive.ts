import { readTarball } from "../../archives/tar-archive.ts";
import { ZipArchive } from "../../archives/zip-archive.ts";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { UnpackedFiles, type UnpackLimits } from "./unpacked-files.ts";
import type { UpperLayers } from "./upper-layers.ts";

const KINDS = [
  { ending: /\.zip$/i, unpack: unpackZip },
  { ending: /\.(?:tar\.gz|tgz)$/i, unpack: unpackTarball },
  { ending: /\.tar$/i, unpack: unpackTar },
];

/** An archive and the folder for its files. */
export interface Unpacking extends UnpackLimits {
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
