import { readdirSync, readFileSync } from "node:fs";
import { statfs, writeFile } from "node:fs/promises";
import { join, posix, resolve, win32 } from "node:path";
import { failedPrecondition, ServingError, systemCode } from "../../errors.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { megabytes } from "../../platform/text/size-text.ts";

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** One version of a runtime that `kserving runtimes install` put into the runtimes folder. */
export interface InstalledRuntime {
  readonly name: string;
  readonly version: string;
  /** NAME/VERSION below the runtimes folder: what `kserving runtimes remove` deletes. */
  readonly home: string;
  /** Folder of the libraries: the home, or elsewhere for one that was registered with --path. */
  readonly folder: string;
  /** Its source, for people: a wheel's file name, a folder. */
  readonly source: string;
}

/** Content of {@link MANIFEST}, in JSON. */
export interface RuntimeManifest {
  readonly source: string;
  /** Absolute; only if the libraries are not next to the manifest. */
  readonly folder?: string;
  /** Bytes and hexadecimal SHA-256 by file name; empty if the libraries are elsewhere. */
  readonly files: Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>;
}

/** The file that makes a folder an installed runtime. */
const MANIFEST = "runtime.json";

/** Writes the manifest of a runtime into its folder. */
export function writeManifest(folder: string, manifest: RuntimeManifest): Promise<void> {
  return writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * The folder of installed runtimes: `KSERVING_RUNTIMES_DIR`, else the user's data folder as each system has it.
 */
export function runtimesFolder(
  env: Environment = process.env,
  platform = process.platform,
  home = homeFolder(),
): string {
  const own = env.KSERVING_RUNTIMES_DIR;
  if (own !== undefined && own !== "") return resolve(own);
  const { join } = platform === "win32" ? win32 : posix;
  return join(userDataFolder(env, platform, home), "kserving", "runtimes");
}

/** https://specifications.freedesktop.org/basedir-spec: a path in XDG_DATA_HOME that is not absolute is ignored. */
function userDataFolder(env: Environment, platform: NodeJS.Platform, home: string): string {
  if (platform === "win32") return env.LOCALAPPDATA || win32.join(home, "AppData", "Local");
  if (platform === "darwin") return posix.join(home, "Library", "Application Support");
  const xdg = env.XDG_DATA_HOME ?? "";
  return posix.isAbsolute(xdg) ? xdg : posix.join(home, ".local", "share");
}

/** The complete installations of one runtime, newest version first; none if the folder is missing. */
export function installedRuntimes(name: string, root = runtimesFolder()): InstalledRuntime[] {
  const versions = foldersIn(join(root, name)).sort((a, b) => compareVersions(b, a));
  return versions.flatMap((version) => {
    const home = join(root, name, version);
    const manifest = readManifest(home);
    if (manifest === undefined) return [];
    return [{ name, version, home, folder: manifest.folder ?? home, source: manifest.source }];
  });
}

/** Orders versions such as 2.9.1, 2.21.0rc1 and 2.21.0 from old to new; a pre-release comes before its release. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [versionParts(a), versionParts(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : Number(a > b);
}

/** Order of a version's words relative to its end, which is 0: https://peps.python.org/pep-0440. */
const WORDS: Readonly<Record<string, number>> = { dev: -4, a: -3, b: -2, rc: -1, post: 0.5 };

/** 2.21.0rc1 is 2, 21, 0, -1, 1. */
function versionParts(version: string): number[] {
  const parts = version.match(/\d+|[a-z]+/gi) ?? [];
  return parts.map((part) => (/^\d/.test(part) ? Number(part) : (WORDS[part.toLowerCase()] ?? -1)));
}

/** Names that begin with a dot are incomplete installations. */
function foldersIn(path: string): string[] {
  try {
    return readdirSync(path).filter((name) => !name.startsWith("."));
  } catch {
    return [];
  }
}

function readManifest(home: string): RuntimeManifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(join(home, MANIFEST), "utf8")) as Partial<RuntimeManifest>;
    return typeof manifest.source === "string" ? (manifest as RuntimeManifest) : undefined;
  } catch {
    return undefined;
  }
}

/** Throws `resource_exhausted` when the disk of a folder has too little room. */
export async function checkSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes) throw diskFull(`${megabytes(bytes)} are needed, ${megabytes(bavail * bsize)} are free`);
}

/** Meanings of failed writes, by system error code. */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there, or a running server uses the files",
  EBUSY: "a running server uses the files; stop it first",
  EROFS: "it is read-only",
  ENOTDIR: "a part of the path is a file",
};

/**
 * Converts a failure to write in a folder to `resource_exhausted` or `failed_precondition` with the remedy; returns
 * other errors unchanged.
 */
export function toDiskError(reason: unknown, folder: string): unknown {
  const code = systemCode(reason);
  if (reason instanceof ServingError) return reason;
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull("nothing was installed", reason);
  const meaning = MEANINGS[code];
  if (meaning === undefined) return reason;
  const message = `The folder ${folder} cannot be written: ${meaning}. Choose another with --dir DIR or KSERVING_RUNTIMES_DIR.`;
  return failedPrecondition(message, reason);
}

function diskFull(details: string, cause?: unknown): ServingError {
  const message = `The disk of the runtimes folder is full: ${details}. Make room, or choose another folder with --dir DIR or KSERVING_RUNTIMES_DIR.`;
  return new ServingError("resource_exhausted", message, cause === undefined ? {} : { cause });
}
