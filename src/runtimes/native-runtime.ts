import type { HostPlatform } from "./host-platform.ts";

/** A runtime whose libraries kserving calls directly: its parts and its sources. */
export interface NativeRuntime {
  /** As in `kserving runtimes remove NAME`, mostly also `--driver NAME`. */
  readonly name: string;
  /** The rest of the command that installs it, after `kserving runtimes install`; default: the name. */
  readonly install?: string;
  /** Its usual name. */
  readonly title: string;
  /** The version that is installed where none is asked for: the one that the tests run. */
  readonly testedVersion: string;
  /**
   * The project of the Python package index whose wheels carry the libraries for a platform; undefined where none does.
   */
  wheelProject(host: HostPlatform): string | undefined;
  /** Advice where no wheel carries them, as a sentence. */
  readonly withoutWheel: string;
  /** Base names of the libraries that must be there; the first one is the one that is opened. */
  readonly required: readonly RegExp[];
  /** Checks that a file of an archive belongs to the runtime, by its path in there. */
  keeps(path: string): boolean;
  /**
   * Folders with the libraries of an installation of another kind, below the folder that people would name; `*` is any
   * one name.
   */
  readonly subfolders: readonly string[];
  /** The npm package whose own installer downloads the libraries, and the folder in it. */
  readonly npm?: NpmCarrier;
}

/** An npm package that carries a runtime's libraries once its installer has run. */
export interface NpmCarrier {
  readonly package: string;
  /** Folder of the libraries then, below the package. */
  readonly folder: string;
  /** The installer's program, below the package. */
  readonly installer: string;
}
