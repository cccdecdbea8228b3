import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { openLibrary } from "../native/open-library.ts";
import { cudaFolders } from "./cuda-places.ts";

/** A library of CUDA. */
export interface CudaLibrary {
  readonly file: string;
  /** True where ONNX Runtime does without it, but for operators that need it. */
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
 * in it; undefined where it has none.
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
