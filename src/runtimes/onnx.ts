import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { npmFolders } from "./library-places.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** An npm package that is downloaded without running its scripts. */
export interface NpmArchive {
  readonly name: string;
  /** Of the tested version's archive, as npm's registry states it. */
  readonly integrity: string;
  /** Checks that a file of the archive is needed here, by its path within the package. */
  keeps(path: string): boolean;
}

/** The native libraries for this platform, below the package. */
const LIBRARIES = `bin/napi-v6/${process.platform}/${process.arch}/`;

const LIBRARY_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: "libonnxruntime.1.dylib",
  win32: "onnxruntime.dll",
};

/** ONNX Runtime: an npm package with libraries for five platforms, and the package of its JavaScript interface. */
export const onnx = {
  name: "onnx",
  title: "ONNX Runtime",
  /** The version that is installed where none is asked for: the one that the tests run. */
  testedVersion: "1.30.0",
  package: "onnxruntime-node",
  archives: [
    {
      name: "onnxruntime-node",
      integrity: "sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==",
      keeps: (path) => path === "package.json" || /^dist\/.*\.js$/.test(path) || path.startsWith(LIBRARIES),
    },
    {
      name: "onnxruntime-common",
      integrity: "sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==",
      keeps: (path) => path === "package.json" || /^dist\/.*\.(js|json)$/.test(path),
    },
  ] as readonly NpmArchive[],
} as const;

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

/** The places where ONNX Runtime is looked for, for messages. */
export const ONNX_PLACES: readonly string[] = [NPM_SOURCE, FOLDER_SOURCE];

/** The file to import of a copy. Throws where the package is incomplete. */
export function entryOf(path: string): string {
  return createRequire(join(path, "package.json")).resolve(path);
}

/** ONNX Runtime's own library in a copy, by the name that the package's addon has for it. */
export function libraryOf(path: string): string {
  return join(path, LIBRARIES, LIBRARY_NAMES[process.platform] ?? "libonnxruntime.so.1");
}

/**
 * The folder that has the package in its `node_modules`, for a path that names it, its `node_modules` or the package;
 * undefined where there is none.
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
