import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { fetchWheel, type WheelSource } from "./fetch-wheel.ts";
import { libraryBelow, libraryIn } from "./find-library.ts";
import type { NativeRuntime } from "./native-runtimes.ts";
import { probeRuntime } from "./probe.ts";
import type { Reporter } from "./reporter.ts";
import { installedRuntimes, type RuntimeManifest, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./staging.ts";
import { unpackArchive } from "./unpack-archive.ts";
import { describePlatform, hostPlatform, runsHere, toWheelName } from "./wheels.ts";

/** Options for installing a runtime. */
export interface InstallOptions {
  readonly source: InstallSource;
  /** Default: the tested one for a download, else the source's. */
  readonly version?: string | undefined;
  /** The runtimes folder. */
  readonly root: string;
  /** Replaces an installation of the same version. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Puts a runtime's libraries into the runtimes folder, all of them or none; an abort, a failure and a second process at
 * the same time leave nothing half.
 */
export async function installRuntime(runtime: NativeRuntime, options: InstallOptions): Promise<Installation> {
  const { root, force } = options;
  const expected = expectedVersion(runtime, options);
  checkVersion(expected);
  const present = force ? undefined : findInstalled(runtime, expected, root);
  if (present !== undefined) return { runtime: present, isNew: false };
  return stageRuntime(runtime.name, {
    root,
    force,
    fill: (folder, scratch) => fillAndAskVersion(runtime, options, { folder, scratch }),
    find: (version) => findInstalled(runtime, version, root),
  });
}

function findInstalled({ name }: NativeRuntime, version: string | undefined, root: string) {
  return installedRuntimes(name, root).find((installed) => installed.version === version);
}

/** The version, if it is known before anything is fetched. */
function expectedVersion(runtime: NativeRuntime, { source, version }: InstallOptions): string | undefined {
  if (version !== undefined || source.kind === "folder") return version;
  return source.kind === "wheel" ? runtime.testedVersion : toWheelName(basename(source.path))?.version;
}

/** A version becomes a folder's name. */
function checkVersion(version: string | undefined): void {
  if (version === undefined || /^\w[\w.+!-]*$/.test(version)) return;
  throw invalidArgument(`The version is "${version}"; expected one such as 2.21.0.`);
}

async function fillAndAskVersion(
  runtime: NativeRuntime,
  options: InstallOptions,
  folders: { readonly folder: string; readonly scratch: string },
): Promise<string> {
  const { folder } = folders;
  const filled = await fillRuntime(runtime, { ...options, ...folders });
  checkSame(options.version, filled.version);
  const version = filled.version ?? options.version ?? (await askVersion(runtime, filled.manifest.folder ?? folder));
  checkVersion(version);
  await writeManifest(folder, filled.manifest);
  return version;
}

function checkSame(wanted: string | undefined, actual: string | undefined): void {
  if (wanted === undefined || actual === undefined || wanted === actual) return;
  throw invalidArgument(`The wheel has version ${actual}, not ${wanted}; leave out --version.`);
}

/** Jars and folders do not state their version; the library does. */
async function askVersion(runtime: NativeRuntime, folder: string): Promise<string> {
  const library = libraryIn(runtime, folder) ?? "";
  const probe = await probeRuntime({ runtime: runtime.name, library });
  if (probe.loads) return probe.version;
  const message = `${runtime.title} does not load here, so that its version is not known: ${probe.reason} Nothing was installed; --version V installs it all the same.`;
  throw failedPrecondition(message);
}

/** Source of a runtime's libraries: a package index or pip, a wheel or jar at hand, an installation of another kind. */
export type InstallSource =
  | { readonly kind: "wheel"; readonly from?: WheelSource }
  | { readonly kind: "archive"; readonly path: string }
  | { readonly kind: "folder"; readonly path: string };

/** Options for filling a folder with a runtime. */
interface FillOptions {
  readonly source: InstallSource;
  /** Version of the wheel; default: the tested one. */
  readonly version?: string | undefined;
  /** Gets the libraries, unless they stay where they are. */
  readonly folder: string;
  /** For downloads. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/** Content that a folder was filled with. */
interface Filled {
  readonly manifest: RuntimeManifest;
  /** Undefined if the source does not state it. */
  readonly version?: string | undefined;
}

/**
 * Copies a runtime's libraries from their source. Throws `failed_precondition` for a source without them, and the
 * errors of downloading and unpacking.
 */
async function fillRuntime(runtime: NativeRuntime, options: FillOptions): Promise<Filled> {
  const { source } = options;
  if (source.kind === "folder") return registerFolder(runtime, source.path);
  if (source.kind === "archive") return fillFromArchive(runtime, source.path, options);
  const host = hostPlatform();
  const project = runtime.wheelProject(host);
  if (project === undefined) {
    const message = `No wheel carries ${runtime.title} for ${describePlatform(host)}. ${runtime.withoutWheel}`;
    throw failedPrecondition(message);
  }
  const wanted = { project, version: options.version ?? runtime.testedVersion, host };
  const { scratch, signal, reporter } = options;
  const wheel = await fetchWheel(wanted, { from: source.from, folder: scratch, signal, reporter });
  return fillFromArchive(runtime, wheel, options);
}

async function fillFromArchive(runtime: NativeRuntime, path: string, options: FillOptions): Promise<Filled> {
  checkPlatform(path);
  options.reporter.step(`Unpacking the libraries of ${runtime.title}`);
  const { files, version } = await unpackArchive(path, runtime, options);
  return { manifest: { source: basename(path), files }, version };
}

function checkPlatform(path: string): void {
  const wheel = toWheelName(basename(path));
  const host = hostPlatform();
  if (wheel === undefined || wheel.platforms.some((tag) => runsHere(tag, host))) return;
  const message = `${basename(path)} is for ${wheel.platforms.join(", ")}, and this is ${describePlatform(host)}.`;
  throw failedPrecondition(message);
}

async function registerFolder(runtime: NativeRuntime, path: string): Promise<Filled> {
  const found = await stat(path).catch(() => undefined);
  const library = found?.isDirectory() ? libraryBelow(runtime, path) : undefined;
  if (library !== undefined) return { manifest: { source: resolve(path), folder: dirname(library), files: {} } };
  const message = `${path} ${whatIsWrong(found)}; expected a folder with the libraries of ${runtime.title}, or an installation such as a Python environment. A wheel goes with --wheel FILE.`;
  throw failedPrecondition(message);
}

function whatIsWrong(found: { isDirectory(): boolean } | undefined): string {
  if (found === undefined) return "is not there";
  return found.isDirectory() ? "does not have what is needed" : "is not a folder";
}
