import { basename } from "node:path";
import { failedPrecondition, invalidArgument } from "../errors.ts";
import { fillRuntime, type InstallSource } from "./fill-runtime.ts";
import { libraryIn } from "./library-folder.ts";
import type { NativeRuntime } from "./native-runtime.ts";
import { probeRuntime } from "./probe.ts";
import type { Reporter } from "./reporter.ts";
import { installedRuntimes, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./stage-runtime.ts";
import { toWheelName } from "./wheel-name.ts";

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

/** The version, where it is known before anything is fetched. */
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
