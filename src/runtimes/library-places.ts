import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { NativeRuntime } from "./native-runtime.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** A place where a runtime may be. */
export interface LibraryPlace {
  /** As people would name it. */
  readonly name: string;
  readonly folders: () => readonly string[];
  /** Counts only the folders themselves, not the subfolders that installations have. */
  readonly isFlat?: boolean;
}

/** The places that are searched for a runtime, in order; those in environment variables come first. */
export function libraryPlaces({ name, npm }: NativeRuntime): readonly LibraryPlace[] {
  return [
    ...libraryVariables(name).map((variable) => ({ name: variable, folders: () => environmentFolders(variable) })),
    ...(npm ? [{ name: `the npm package ${npm.package}`, folders: () => npmFolders(npm.package, npm.folder) }] : []),
    { name: "the runtimes folder", folders: () => installedRuntimes(name).map(({ folder }) => folder) },
    { name: "VIRTUAL_ENV", folders: () => environmentFolders("VIRTUAL_ENV") },
    { name: "CONDA_PREFIX", folders: () => environmentFolders("CONDA_PREFIX") },
    { name: `the packages of ${PYTHON}`, folders: pythonFolders },
    { name: "the system's library folders", folders: systemFolders, isFlat: true },
  ];
}

/** The names of the places, for messages. */
export function lookedIn(runtime: NativeRuntime): string[] {
  return libraryPlaces(runtime).map(({ name }) => name);
}

/** The environment variables that may name a runtime's library, or its folder. */
export function libraryVariables(runtime: string): readonly string[] {
  const name = runtime.toUpperCase().replaceAll("-", "_");
  return [`KSERVING_${name}_LIB`, `${name}_LIB`];
}

function environmentFolders(variable: string): string[] {
  const value = process.env[variable];
  return value ? [value] : [];
}

/** A folder of an npm package, as seen from this package and from the working directory. */
export function npmFolders(name: string, folder: string): string[] {
  const from = [import.meta.url, pathToFileURL(join(process.cwd(), "package.json")).href];
  return from.flatMap((place) => {
    try {
      return [join(dirname(createRequire(place).resolve(`${name}/package.json`)), folder)];
    } catch {
      return [];
    }
  });
}

const PYTHON = process.platform === "win32" ? "python" : "python3";
/** Prints where the packages of an interpreter are: those of the system, of Debian's own, and of the user. */
const PRINT_PACKAGE_FOLDERS =
  "import site, sysconfig; print(sysconfig.get_path('platlib'), *site.getsitepackages(), site.getusersitepackages(), sep='\\n')";

/** The folders of the packages of `python3`; none where it does not start. */
export function pythonFolders(): string[] {
  try {
    const printed = execFileSync(PYTHON, ["-c", PRINT_PACKAGE_FOLDERS], {
      encoding: "utf8",
      timeout: 10_000,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return printed.trim().split(/\r?\n/);
  } catch {
    return [];
  }
}

/** Folders that the system's loader searches. */
const SYSTEM_FOLDERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"],
  darwin: ["/usr/local/lib", "/opt/homebrew/lib"],
};

function systemFolders(): string[] {
  const { LD_LIBRARY_PATH = "", DYLD_LIBRARY_PATH = "" } = process.env;
  const given = [LD_LIBRARY_PATH, DYLD_LIBRARY_PATH].flatMap((list) => list.split(delimiter));
  return [...given.filter((folder) => folder !== ""), ...(SYSTEM_FOLDERS[process.platform] ?? [])];
}
