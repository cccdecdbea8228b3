import { dirname, join } from "node:path";
import { failedPrecondition } from "../errors.ts";
import { listGpus } from "./cuda-driver.ts";
import { cudaLibraries, cudaVersionOf, loadCudaLibraries } from "./cuda-libraries.ts";
import { CUDA_PLACES } from "./cuda-places.ts";
import { CUDA_PROVIDER, onnxCuda } from "./onnx-cuda.ts";

/** CUDA, as this process has it. */
export interface OpenedCuda {
  /** The names of the GPUs, by their numbers. */
  readonly gpus: readonly string[];
  readonly version: number;
}

/**
 * Loads what an ONNX Runtime library needs of CUDA, so that its provider finds it. Throws `failed_precondition` naming
 * what is missing: the driver, a GPU, or libraries of CUDA.
 */
export function openCuda(library: string, { cudnn = true }: { readonly cudnn?: boolean } = {}): OpenedCuda {
  const provider = join(dirname(library), CUDA_PROVIDER);
  const version = cudaVersionOf(provider);
  if (version === undefined) throw failedPrecondition(`${provider} is no library of ONNX Runtime for CUDA.`);
  const gpus = listGpus(version);
  const missing = loadCudaLibraries(cudaLibraries(version, { cudnn }));
  if (missing.length === 0) return { gpus, version };
  const message = `CUDA ${version}'s libraries ${missing.join(", ")} are not found here, or do not load. Looked for them in ${CUDA_PLACES}. Run: kserving runtimes install ${onnxCuda.install} --yes`;
  throw failedPrecondition(message);
}
