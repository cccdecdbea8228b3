import { failedPrecondition } from "../errors.ts";
import { libraryAt, libraryIn } from "./library-folder.ts";
import { libraryPlaces, libraryVariables } from "./library-places.ts";
import type { NativeRuntime } from "./native-runtime.ts";

/** A runtime's library that was found. */
export interface FoundLibrary {
  /** The file to open, absolute. */
  readonly path: string;
  /** The option, variable or place that led there, as people would name it. */
  readonly source: string;
}

/**
 * The library of a runtime to use: the one in the driver's option or the environment, else the first one found;
 * undefined where there is none.
 * Throws `failed_precondition` where the option or the environment name a place that lacks it.
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
