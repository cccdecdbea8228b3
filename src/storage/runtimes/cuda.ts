import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { failedPrecondition, type ServingError } from "../../errors.ts";
import { bindFunctions, type NativeFunctions, openLibrary } from "../../platform/native/bind-functions.ts";
import { foldersMatching, pythonFolders } from "./find-library.ts";
import { CUDA, CUDA_PROVIDER, onnxCuda, pytorch } from "./native-runtimes.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** CUDA, as this process has it. */
interface OpenedCuda {
  /** The names of the GPUs, by their numbers. */
  readonly gpus: readonly string[];
  readonly version: number;
}

/**
 * Loads what an ONNX Runtime library needs of CUDA, so that its provider finds it. Throws `failed_precondition` naming
 * the missing parts: the driver, a GPU, or libraries of CUDA.
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
 * `failed_precondition` if there are none, or if the driver is too old for a version of CUDA.
 */
function listGpus(cuda: number): string[] {
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

/** A library of CUDA. */
interface CudaLibrary {
  readonly file: string;
  /** True if ONNX Runtime does without it, but for operators that need it. */
  readonly isOptional?: boolean;
}

const IS_WINDOWS = process.platform === "win32";

/** The libraries of a version of CUDA that ONNX Runtime calls, each after those that it needs itself. */
export function cudaLibraries(cuda: number, { cudnn }: { readonly cudnn: boolean }): readonly CudaLibrary[] {
  const cufft = cuda >= 13 ? 12 : 11;
  const file = (name: string, version: number) =>
    IS_WINDOWS ? `${name}64_${version}.dll` : `lib${name}.so.${version}`;
  return [
    { file: file("cudart", cuda) },
    { file: file("cublasLt", cuda) },
    { file: file("cublas", cuda) },
    { file: file("curand", 10) },
    { file: IS_WINDOWS ? `nvrtc64_${cuda}0_0.dll` : `libnvrtc.so.${cuda}`, isOptional: true },
    { file: file("cufft", cufft), isOptional: true },
    ...(cudnn ? [{ file: file("cudnn", 9) }] : []),
  ];
}

/** Bytes that are read at once. */
const PIECE = 2 ** 20;
/** Bytes of the longest name. */
const NAME = 32;

/**
 * The version of CUDA that a library was built for, by the name of CUDA's own library
 * in it; undefined if it has none.
 */
export function cudaVersionOf(library: string): number | undefined {
  const file = openSync(library, "r");
  const piece = Buffer.alloc(PIECE);
  try {
    for (let at = 0; ; at += PIECE - NAME) {
      const length = readSync(file, piece, 0, PIECE, at);
      const [, version] = /cudart(?:\.so\.|64_)(\d+)/.exec(piece.toString("latin1", 0, length)) ?? [];
      if (version !== undefined) return Number(version);
      if (length < PIECE) return undefined;
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Loads libraries of CUDA into this process, where others then find them by their names; returns those that are needed
 * and not found, or that do not load.
 */
export function loadCudaLibraries(libraries: readonly CudaLibrary[]): string[] {
  let folders: readonly string[] | undefined;
  const isLoaded = ({ file }: CudaLibrary): boolean => {
    if (opens(file)) return true;
    folders ??= [...cudaFolders()];
    return folders.map((folder) => join(folder, file)).some((path) => existsSync(path) && opens(path));
  };
  return libraries.filter((library) => !isLoaded(library) && !library.isOptional).map(({ file }) => file);
}

function opens(path: string): boolean {
  try {
    openLibrary(path);
    return true;
  } catch {
    return false;
  }
}

/** Folders of libraries below that of a Python's packages, and of an installation of CUDA. */
const IN_PACKAGES = IS_WINDOWS ? ["nvidia/*/bin", "nvidia/*/bin/x86_64"] : ["nvidia/*/lib"];
const IN_INSTALLATION = IS_WINDOWS ? ["bin", "bin/x64"] : ["lib64", "lib", "targets/*/lib"];
const IN_ENVIRONMENT = IS_WINDOWS ? "Lib/site-packages" : "lib/python*/site-packages";

/** The places of CUDA's libraries after the system's own, for messages. */
const CUDA_PLACES = "the system's folders, the runtimes folder, Python environments and CUDA_PATH";

/** Folders in which CUDA's libraries may be, apart from those that the system's loader searches. */
function* cudaFolders(): Generator<string> {
  for (const { folder } of installedRuntimes(CUDA)) yield folder;
  const { VIRTUAL_ENV, CONDA_PREFIX, CUDA_PATH, CUDA_HOME } = process.env;
  const environments = [VIRTUAL_ENV, CONDA_PREFIX, ...installedRuntimes(pytorch.name).map(({ folder }) => folder)];
  for (const folder of given(environments)) {
    for (const packages of foldersMatching(folder, IN_ENVIRONMENT)) yield* below(packages, IN_PACKAGES);
  }
  const installations = [CONDA_PREFIX, CUDA_PATH, CUDA_HOME, ...(IS_WINDOWS ? [] : ["/usr/local/cuda"])];
  for (const folder of given(installations)) yield* below(folder, IN_INSTALLATION);
  for (const folder of pythonFolders()) yield* below(folder, IN_PACKAGES);
}

function given(folders: readonly (string | undefined)[]): string[] {
  return folders.filter((folder): folder is string => folder !== undefined && folder !== "");
}

function below(folder: string, patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => foldersMatching(folder, pattern));
}
