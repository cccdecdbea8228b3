import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { npmFolders } from "./find-library.ts";
import { ONNX_LIBRARIES, onnx } from "./native-runtimes.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** One copy of ONNX Runtime. */
export interface FoundOnnx {
  /** The package's folder, absolute. */
  readonly path: string;
  /** The option, variable or place that led there, as people would name it. */
  readonly source: string;
}

/**
 * Every copy of ONNX Runtime in the order of preference: next to this package, next to the working directory's
 * packages, in the runtimes folder.
 */
export function findOnnx(): FoundOnnx[] {
  const packages = npmFolders(onnx.package, "").map((path) => ({ path, source: NPM_SOURCE }));
  const installed = installedRuntimes(onnx.name).map(({ folder }) => ({
    path: join(folder, "node_modules", onnx.package),
    source: FOLDER_SOURCE,
  }));
  const all = [...packages, ...installed];
  return all.filter(({ path }, index) => all.findIndex((each) => each.path === path) === index);
}

const NPM_SOURCE = `the npm package ${onnx.package}`;
const FOLDER_SOURCE = "the runtimes folder";

/** The places in which ONNX Runtime is looked for, for messages. */
export const ONNX_PLACES: readonly string[] = [NPM_SOURCE, FOLDER_SOURCE];

/** The file to import of a copy. Throws if the package is incomplete. */
export function entryOf(path: string): string {
  return createRequire(join(path, "package.json")).resolve(path);
}

const LIBRARY_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: "libonnxruntime.1.dylib",
  win32: "onnxruntime.dll",
};

/** ONNX Runtime's own library in a copy, by the name that the package's addon has for it. */
export function libraryOf(path: string): string {
  return join(path, ONNX_LIBRARIES, LIBRARY_NAMES[process.platform] ?? "libonnxruntime.so.1");
}

/**
 * The folder that has the package in its `node_modules`, for a path that names it, its `node_modules` or the package;
 * undefined if there is none.
 */
export function onnxHome(path: string): string | undefined {
  const candidates = [path, dirname(path), dirname(dirname(path))];
  return candidates.find((folder) => hasPackage(folder));
}

function hasPackage(folder: string): boolean {
  try {
    entryOf(join(folder, "node_modules", onnx.package));
    return true;
  } catch {
    return false;
  }
}
