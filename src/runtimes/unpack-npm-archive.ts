import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { readTarball, type TarEntry } from "../archives/tar-archive.ts";
import { ServingError } from "../errors.ts";
import { toDiskError } from "./disk.ts";
import type { NpmArchive } from "./onnx.ts";
import type { RuntimeManifest } from "./runtimes-folder.ts";

/** Options for unpacking an archive of npm. */
export interface UnpackNpmOptions {
  /** Gets `node_modules/NAME` with the files that are kept. */
  readonly folder: string;
  /**
   * The checksum that the archive has to have; undefined where only npm knows it, which has compared it with its
   * registry's.
   */
  readonly integrity: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Writes the needed files of an npm archive below a folder; returns them by their path there. Throws `data_loss` for
 * another archive than the expected one, before anything is written.
 */
export async function unpackNpmArchive(
  path: string,
  archive: NpmArchive,
  { folder, integrity, signal }: UnpackNpmOptions,
): Promise<RuntimeManifest["files"]> {
  if (integrity !== undefined) await checkIntegrity(path, integrity, signal);
  const files: Record<string, { bytes: number; sha256: string }> = {};
  try {
    for await (const entry of readTarball(path)) {
      const file = withinPackage(entry.name);
      if (file === undefined || !archive.keeps(file)) continue;
      const place = posix.join("node_modules", archive.name, file);
      files[place] = { bytes: entry.bytes, sha256: await write(entry, join(folder, place), signal) };
    }
  } catch (reason) {
    if (!(reason instanceof ServingError) || reason.code !== "data_loss") throw toDiskError(reason, folder);
    throw new ServingError("data_loss", `${basename(path)}: ${reason.message}`, { cause: reason });
  }
  return files;
}

/**
 * A file's path below the archive's one folder, which npm calls `package`; undefined for a path that leads elsewhere.
 */
function withinPackage(name: string): string | undefined {
  const [, ...parts] = name.split("/");
  const leadsAway = parts.some((part) => part === "" || part === "." || part === ".." || /[\\:\0]/.test(part));
  return parts.length === 0 || leadsAway ? undefined : parts.join("/");
}

async function checkIntegrity(path: string, expected: string, signal: AbortSignal): Promise<void> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(path), hash, { signal });
  if (`sha512-${hash.digest("base64")}` === expected) return;
  const message = `${basename(path)} is not the archive that was tested: its SHA-512 differs. Nothing was installed; ask who runs the npm registry, or choose another with npm_config_registry.`;
  throw new ServingError("data_loss", message);
}

/** Writes one file and returns its SHA-256. */
async function write(entry: TarEntry, target: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  async function* hashed() {
    for await (const chunk of entry.chunks()) {
      hash.update(chunk);
      yield chunk;
    }
  }
  await mkdir(dirname(target), { recursive: true });
  await pipeline(hashed, createWriteStream(target, { flags: "wx" }), { signal });
  return hash.digest("hex");
}
