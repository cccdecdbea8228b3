import { basename, join } from "node:path";
import { ServingError } from "../../errors.ts";
import { download } from "./fetch-wheel.ts";
import { CUDA } from "./native-runtimes.ts";
import { findIndexUrl, listIndexFiles } from "./package-index.ts";
import type { Reporter } from "./reporter.ts";
import { compareVersions, installedRuntimes, type RuntimeManifest, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./staging.ts";
import { unpackArchive } from "./unpack-archive.ts";
import { chooseWheel, type HostPlatform, hostPlatform, runsHere, toWheelName } from "./wheels.ts";

/** Download of CUDA's libraries for Linux x64, and their size on disk, for messages. */
export const CUDA_SIZE = "1.3 GB to download, 2 GB on disk";

/** The oldest version of CUDA whose wheels have these names. */
export const OLDEST_CUDA = 13;

/** A library of a wheel, as unpacked: all go to one folder. */
const LIBRARY = /^nvidia\/[^/]+\/(?:lib|bin)\/(?:[^/]+\/)?[^/]+(?:\.so(?:\.[\d.]+)?|\.dll)$/;

/**
 * The wheels that have the libraries for a version of CUDA, each with the first part
 * of its own version; CUDA's own is the first.
 */
function wheelsOf(cuda: number): readonly { readonly project: string; readonly major: number }[] {
  return [
    { project: "nvidia-cuda-runtime", major: cuda },
    { project: "nvidia-cublas", major: cuda },
    { project: "nvidia-curand", major: 10 },
    { project: "nvidia-cuda-nvrtc", major: cuda },
    { project: "nvidia-cufft", major: cuda - 1 },
    { project: "nvidia-nvjitlink", major: cuda },
    { project: `nvidia-cudnn-cu${cuda}`, major: 9 },
  ];
}

/** Options for installing CUDA's libraries. */
export interface InstallCudaOptions {
  /** The version of CUDA, {@link OLDEST_CUDA} or newer. */
  readonly cuda: number;
  /** The runtimes folder. */
  readonly root: string;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/** Puts CUDA's own libraries into the runtimes folder, from the newest wheels of their makers, all or none. */
export function installCuda(options: InstallCudaOptions): Promise<Installation> {
  const { root } = options;
  return stageRuntime(CUDA, {
    root,
    force: true,
    fill: (folder, scratch) => fill(options, { folder, scratch }),
    find: (version) => installedRuntimes(CUDA, root).find((installed) => installed.version === version),
  });
}

interface Folders {
  readonly folder: string;
  readonly scratch: string;
}

async function fill({ cuda, signal, reporter }: InstallCudaOptions, { folder, scratch }: Folders): Promise<string> {
  const files: Record<string, RuntimeManifest["files"][string]> = {};
  const found: string[] = [];
  const versions: string[] = [];
  for (const wheel of wheelsOf(cuda)) {
    const chosen = await chooseNewest(wheel, signal);
    const target = join(scratch, chosen.fileName);
    reporter.step(`Downloading ${chosen.fileName} from ${new URL(chosen.url).host}`);
    await download({ url: chosen.url, target, sha256: chosen.sha256, signal, reporter });
    const parts = { title: wheel.project, required: [LIBRARY_NAME], keeps: (path: string) => LIBRARY.test(path) };
    Object.assign(files, (await unpackArchive(target, parts, { folder, signal, reporter })).files);
    found.push(basename(target));
    versions.push(chosen.version);
  }
  const manifest: RuntimeManifest = { source: found.join(", "), files };
  await writeManifest(folder, manifest);
  return versions[0]!;
}

const LIBRARY_NAME = /\.(so(\.[\d.]+)?|dll)$/;

async function chooseNewest({ project, major }: { project: string; major: number }, signal: AbortSignal) {
  const host = hostPlatform();
  const files = await listIndexFiles(findIndexUrl(), project, signal);
  const fitting = files.flatMap(({ name, yanked }) => (yanked ? [] : (usable(name, major, host) ?? [])));
  const [version] = [...new Set(fitting)].sort((a, b) => compareVersions(b, a));
  if (version !== undefined) return chooseWheel(files, { project, version, host });
  throw new ServingError("not_found", `The package index has no wheel ${project} ${major} for this machine.`);
}

function usable(name: string, major: number, host: HostPlatform): string | undefined {
  const wheel = toWheelName(name);
  const isFitting = wheel?.version.startsWith(`${major}.`) && wheel.platforms.some((tag) => runsHere(tag, host));
  return isFitting ? wheel?.version : undefined;
}
