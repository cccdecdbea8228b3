import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { failedPrecondition } from "../errors.ts";
import { fetchWheel, type WheelSource } from "./fetch-wheel.ts";
import { describePlatform, hostPlatform } from "./host-platform.ts";
import { libraryBelow } from "./library-folder.ts";
import type { NativeRuntime } from "./native-runtime.ts";
import type { Reporter } from "./reporter.ts";
import type { RuntimeManifest } from "./runtimes-folder.ts";
import { unpackArchive } from "./unpack-archive.ts";
import { runsHere, toWheelName } from "./wheel-name.ts";

/** Source of a runtime's libraries: a package index or pip, a wheel or jar at hand, an installation of another kind. */
export type InstallSource =
  | { readonly kind: "wheel"; readonly from?: WheelSource }
  | { readonly kind: "archive"; readonly path: string }
  | { readonly kind: "folder"; readonly path: string };

/** Options for filling a folder with a runtime. */
export interface FillOptions {
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
export interface Filled {
  readonly manifest: RuntimeManifest;
  /** Undefined where the source does not state it. */
  readonly version?: string | undefined;
}

/**
 * Copies a runtime's libraries from their source. Throws `failed_precondition` for a source without them, and the
 * errors of downloading and unpacking.
 */
export async function fillRuntime(runtime: NativeRuntime, options: FillOptions): Promise<Filled> {
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
