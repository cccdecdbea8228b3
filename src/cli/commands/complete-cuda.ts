import { join } from "node:path";
import { cudaLibraries, cudaVersionOf, loadCudaLibraries } from "../../runtimes/cuda.ts";
import { CUDA_SIZE, installCuda, OLDEST_CUDA } from "../../runtimes/install-cuda.ts";
import { CUDA, CUDA_PROVIDER } from "../../runtimes/native-runtimes.ts";
import type { Reporter } from "../../runtimes/reporter.ts";
import { installedRuntimes } from "../../runtimes/runtimes-folder.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import type { InstallFlags } from "./install-flags.ts";

/** The place and the reporter of an installation. */
interface Place {
  readonly root: string;
  readonly reporter: Reporter;
}

/**
 * Gets what a library of ONNX Runtime needs of CUDA where that is missing and `--yes`
 * is given; else prints what is missing.
 */
export async function completeCuda(folder: string, { yes = false }: InstallFlags, place: Place): Promise<void> {
  const cuda = cudaVersionOf(join(folder, CUDA_PROVIDER));
  if (cuda === undefined || installedRuntimes(CUDA, place.root).length > 0) return;
  const missing = loadCudaLibraries(cudaLibraries(cuda, { cudnn: true }));
  if (missing.length === 0) return;
  if (!yes || cuda < OLDEST_CUDA) return console.log(lacking(cuda, missing));
  const run = (signal: AbortSignal) => installCuda({ cuda, ...place, signal });
  const { runtime } = await untilInterrupted(run, "CUDA's own libraries were not installed");
  console.log(`CUDA ${runtime.version} is installed: ${runtime.folder}`);
}

function lacking(cuda: number, missing: readonly string[]): string {
  const how = cuda < OLDEST_CUDA ? "NVIDIA's installer has them" : `--yes gets them too: ${CUDA_SIZE}`;
  return `CUDA ${cuda}'s own libraries are not found here: ${missing.join(", ")}. ${how}.`;
}
