import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { failedPrecondition, type ServingError } from "../../errors.ts";
import type { NativeRuntime } from "./native-runtimes.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** A runtime's library that was found. */
interface FoundLibrary {
  /** The file to open, absolute. */
  readonly path: string;
  /** The option, variable or place that led there, as people would name it. */
  readonly source: string;
}

/**
 * The library of a runtime to use: the one in the driver's option or the environment, else the first one found;
 * undefined if there is none.
 * Throws `failed_precondition` if the option or the environment name a place that lacks it.
 */
export function findLibrary(runtime: NativeRuntime, option?: string): FoundLibrary | undefined {
  if (option) return namedLibrary(runtime, option, `-o ${runtime.name}_lib`);
  for (const variable of libraryVariables(runtime.name)) {
    const value = process.env[variable];
    if (value) return namedLibrary(runtime, value, variable);
  }
  for (const found of findLibraries(runtime)) return found;
  return undefined;
}

/** Every library of a runtime in the order in which they are taken, each file once. */
export function* findLibraries(runtime: NativeRuntime): Generator<FoundLibrary> {
  const seen = new Set<string>();
  for (const { name, folders, isFlat } of libraryPlaces(runtime)) {
    for (const folder of folders()) {
      const path = isFlat ? libraryIn(runtime, folder) : libraryAt(runtime, folder);
      if (path === undefined || seen.has(path)) continue;
      seen.add(path);
      yield { path, source: name };
    }
  }
}

function namedLibrary(runtime: NativeRuntime, path: string, who: string): FoundLibrary {
  const found = libraryAt(runtime, path);
  if (found !== undefined) return { path: found, source: who };
  throw failedPrecondition(
    `${who} is "${path}", where ${runtime.title} is not: expected its library, or a folder that holds all of its libraries.`,
  );
}

/** A place of a runtime. */
interface LibraryPlace {
  /** As people would name it. */
  readonly name: string;
  readonly folders: () => readonly string[];
  /** Counts only the folders themselves, not the subfolders that installations have. */
  readonly isFlat?: boolean;
}

/** The places that are searched for a runtime, in order; those in environment variables come first. */
function libraryPlaces({ name, npm }: NativeRuntime): readonly LibraryPlace[] {
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

/** The folders of the packages of `python3`; none if it does not start. */
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

/**
 * The library that a path means: the file itself, with any name, or the one in that folder or in the usual subfolders
 * of installations.
 */
function libraryAt(runtime: NativeRuntime, path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? resolve(path) : libraryBelow(runtime, path);
}

/** The same for a folder. */
export function libraryBelow(runtime: NativeRuntime, folder: string): string | undefined {
  const folders = runtime.subfolders.flatMap((pattern) => foldersMatching(folder, pattern));
  return folders.map((each) => libraryIn(runtime, each)).find((found) => found !== undefined);
}

/** The same for one folder alone, which has to hold all of the runtime's libraries. */
export function libraryIn({ required }: NativeRuntime, folder: string): string | undefined {
  const names = namesIn(folder).sort();
  const found = required.map((pattern) => names.find((name) => pattern.test(name)));
  return found.includes(undefined) ? undefined : resolve(folder, found[0]!);
}

/** Folders in a folder: `*` in a part of the pattern matches anything but a separator. */
export function foldersMatching(folder: string, pattern: string): string[] {
  const parts = pattern.split("/").filter((part) => part !== "");
  return parts.reduce<string[]>(
    (folders, part) => folders.flatMap((each) => matching(each, part).map((name) => join(each, name))),
    [folder],
  );
}

function matching(folder: string, part: string): string[] {
  if (!part.includes("*")) return [part];
  const [start, end] = part.split("*") as [string, string];
  return namesIn(folder).filter((name) => name.startsWith(start) && name.endsWith(end));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A runtime that was looked for and could not be used. */
interface MissingRuntime {
  /** The name in `kserving runtimes install NAME`. */
  readonly name: string;
  /** Its usual name, for example TensorFlow. */
  readonly title: string;
  /** The searched places, each as people would name it, in the order of the search. */
  readonly looked: readonly string[];
  /** The error of loading it, if one was found that does not load. */
  readonly cause?: unknown;
}

/** The error for a missing native runtime: its name, the searched places, and how to install it. */
export function missingRuntime({ name, title, looked, cause }: MissingRuntime): ServingError {
  const places = looked.length === 0 ? "" : ` Looked for it in: ${looked.join(", ")}.`;
  const message = `${title} is not installed, or not where it is looked for.${places} Run: kserving runtimes install ${name} (kserving runtimes list shows what is found where).`;
  return failedPrecondition(message, cause);
}
