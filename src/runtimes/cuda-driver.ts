import { existsSync } from "node:fs";
import { failedPrecondition, type ServingError } from "../errors.ts";
import { bindFunctions, type NativeFunctions } from "../native/bind-functions.ts";
import { openLibrary } from "../native/open-library.ts";

/** https://docs.nvidia.com/cuda/cuda-driver-api. What the functions return is 0 for success. */
const FUNCTIONS = {
  cuInit: ["int", "int"],
  cuDriverGetVersion: ["int", "void *"],
  cuDeviceGetCount: ["int", "void *"],
  cuDeviceGetName: ["int", "void *", "int", "int"],
} as const;

type CudaDriver = NativeFunctions<typeof FUNCTIONS>;

const LIBRARY = process.platform === "win32" ? "nvcuda.dll" : "libcuda.so.1";
const NO_DEVICE = 100;
const NAME_BYTES = 256;

/** Checks that NVIDIA's driver seems to be there, without loading it. */
export function seemsToHaveGpu(): boolean {
  return existsSync(process.platform === "win32" ? "C:\\Windows\\System32\\nvcuda.dll" : "/dev/nvidiactl");
}

/**
 * The names of the GPUs that NVIDIA's driver lets this process use, in the order of their numbers. Throws
 * `failed_precondition` where there are none, or where the driver is too old for a version of CUDA.
 */
export function listGpus(cuda: number): string[] {
  const driver = openDriver();
  const code = driver.cuInit(0);
  if (code !== 0) throw noGpu(code);
  const supported = readNumber((at) => driver.cuDriverGetVersion(at));
  if (supported < cuda * 1000) throw tooOld(supported, cuda);
  const count = readNumber((at) => driver.cuDeviceGetCount(at));
  if (count === 0) throw noGpu(NO_DEVICE);
  return Array.from({ length: count }, (_, index) => readName(driver, index));
}

function openDriver(): CudaDriver {
  try {
    return bindFunctions(openLibrary(LIBRARY), FUNCTIONS, "NVIDIA's driver");
  } catch (cause) {
    const message = `NVIDIA's driver is not here: ${LIBRARY} is not found. Install it on the machine; a container gets it from there with --gpus all and NVIDIA's container toolkit.`;
    throw failedPrecondition(message, cause);
  }
}

function noGpu(code: number): ServingError {
  const what = code === NO_DEVICE ? "finds no GPU" : `does not start (cuInit gives ${code})`;
  const message = `NVIDIA's driver ${what} here. nvidia-smi lists those that there are; CUDA_VISIBLE_DEVICES hides some, and a container has those that it was given.`;
  return failedPrecondition(message);
}

function tooOld(supported: number, cuda: number): ServingError {
  const has = `${Math.floor(supported / 1000)}.${Math.floor((supported % 1000) / 10)}`;
  return failedPrecondition(
    `NVIDIA's driver here is for CUDA ${has}, and this build of ONNX Runtime needs CUDA ${cuda}: update the driver.`,
  );
}

function readNumber(call: (at: Int32Array) => number): number {
  const at = new Int32Array(1);
  const code = call(at);
  if (code !== 0) throw noGpu(code);
  return at[0]!;
}

function readName(driver: CudaDriver, index: number): string {
  const name = Buffer.alloc(NAME_BYTES);
  driver.cuDeviceGetName(name, NAME_BYTES, index);
  return name.toString("utf8", 0, Math.max(0, name.indexOf(0)));
}
