import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { megabytes } from "../../platform/text/size-text.ts";
import { openUrl } from "./open-url.ts";
import { findIndexUrl, listIndexFiles } from "./package-index.ts";
import { pipErrorText, pythonCommands, runPython } from "./python.ts";
import type { Reporter } from "./reporter.ts";
import { checkSpace } from "./runtimes-folder.ts";
import { chooseWheel, type HostPlatform, type WantedWheel } from "./wheels.ts";

/** Fetcher of a wheel: this program, from a package index; or pip. */
export type WheelSource = "index" | "pip";

/** Source and target of a wheel. */
interface FetchWheelOptions {
  /** Default: the index, and pip if the index cannot be reached. */
  readonly from: WheelSource | undefined;
  /** An empty folder for the wheel. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Fetches the wheel of a version for a platform, without any Python if the index
 * can be reached directly; returns its path.
 */
export async function fetchWheel(wanted: WantedWheel, options: FetchWheelOptions): Promise<string> {
  if (options.from === "pip") return fetchByPip(wanted, options);
  try {
    return await fetchFromIndex(wanted, options);
  } catch (reason) {
    if (options.from === "index" || !mayPipHelp(reason)) throw reason;
    options.reporter.step((reason as ServingError).message);
    return fetchByPip(wanted, options, reason);
  }
}

/** pip supports proxies and keyrings that fetch does not. */
function mayPipHelp(reason: unknown): boolean {
  return reason instanceof ServingError && ["unavailable", "permission_denied"].includes(reason.code);
}

async function fetchFromIndex(wanted: WantedWheel, options: FetchWheelOptions): Promise<string> {
  const { folder, signal, reporter } = options;
  const files = await listIndexFiles(findIndexUrl(), wanted.project, signal);
  const { fileName, url, sha256 } = chooseWheel(files, wanted);
  reporter.step(`Downloading ${fileName} from ${new URL(url).host}`);
  const target = join(folder, fileName);
  await download({ url, target, sha256, signal, reporter });
  return target;
}

async function fetchByPip(wanted: WantedWheel, options: FetchWheelOptions, cause?: unknown): Promise<string> {
  const { folder, signal, reporter } = options;
  const pip = await findPip();
  if (pip === undefined) {
    throw cause ?? failedPrecondition("No Python 3 with pip was found; leave out --from pip.");
  }
  reporter.step(`Downloading ${wanted.project} ${wanted.version} with pip ${pip.version} of ${pip.python}`);
  // An incomplete download leaves a file next to it.
  return pipDownload(pip, wanted, { folder: join(folder, "pip"), signal });
}

/** One download. */
interface Download {
  readonly url: string;
  /** The file to write; must not exist. */
  readonly target: string;
  /** Hexadecimal; undefined if it is unknown. */
  readonly sha256: string | undefined;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Downloads a file to disk, chunk by chunk, and compares its hash. Throws `data_loss` for another hash,
 * `unavailable` for a download that breaks off, `resource_exhausted` for a disk without room.
 */
export async function download({ url, target, sha256, signal, reporter }: Download): Promise<void> {
  const { response } = await openUrl(url, { signal, what: "file server" });
  const totalBytes = Number(response.headers["content-length"]) || undefined;
  await checkSpace(dirname(target), totalBytes ?? 0);
  const hash = createHash("sha256");
  let doneBytes = 0;
  async function* measured(chunks: AsyncIterable<Uint8Array>) {
    try {
      for await (const chunk of chunks) {
        hash.update(chunk);
        doneBytes += chunk.length;
        reporter.progress(doneBytes, totalBytes);
        yield chunk;
      }
    } catch (cause) {
      throw signal.aborted ? cause : brokenOff(doneBytes, totalBytes, cause);
    }
  }
  const file = createWriteStream(target, { flags: "wx" });
  await pipeline(measured(response), file, { signal }).finally(() => reporter.done());
  if (sha256 !== undefined && hash.digest("hex") !== sha256.toLowerCase()) throw otherHash(url);
}

function brokenOff(doneBytes: number, totalBytes: number | undefined, cause: unknown): ServingError {
  const total = totalBytes === undefined ? "" : ` of ${megabytes(totalBytes)}`;
  const message = `The download broke off after ${megabytes(doneBytes)}${total}. Run the same command again.`;
  return new ServingError("unavailable", message, { cause });
}

function otherHash(url: string): ServingError {
  const name = new URL(url).pathname.split("/").at(-1);
  const message = `The download ${name} is not the file that the package index announced: its SHA-256 differs. Nothing was installed; try again, or ask who runs the index.`;
  return new ServingError("data_loss", message);
}

/**
 * Python for which pip is to choose the wheel, so that any older one can fetch it;
 * every tested version has wheels for it.
 */
const PYTHON = { version: "3.12", abi: "cp312" };

/** A pip that is there. */
interface Pip {
  readonly python: string;
  readonly version: string;
}

/** The first interpreter that has pip; undefined if none has. */
export async function findPip(): Promise<Pip | undefined> {
  for (const python of pythonCommands()) {
    const version = await runPython(python, "import pip; print(pip.__version__)");
    if (version !== undefined) return { python, version };
  }
  return undefined;
}

/**
 * Lets pip fetch a wheel into a new folder, with its own settings for proxies,
 * certificates and passwords; returns the wheel's path.
 */
async function pipDownload(
  pip: Pip,
  wanted: WantedWheel,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<string> {
  const { project, version, host } = wanted;
  const platforms = pipPlatforms(host).flatMap((tag) => ["--platform", tag]);
  const target = ["--python-version", PYTHON.version, "--implementation", "cp", "--abi", PYTHON.abi, ...platforms];
  const args = ["-m", "pip", "download", `${project}==${version}`, "--no-deps", "--only-binary", ":all:", ...target];
  const run = promisify(execFile)(pip.python, [...args, "--dest", folder, "--quiet"], { signal, windowsHide: true });
  await run.catch((cause: Error & { stderr?: string }) => {
    if (signal.aborted) throw cause;
    throw pipFailed(cause);
  });
  const [wheel] = (await readdir(folder)).filter((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw pipFailed(new Error("it left no wheel"));
  return join(folder, wheel);
}

/** For a platform given by name, pip does not accept wheels for an older glibc, although they run on a newer one. */
function pipPlatforms({ os, arch, glibcMinor = 0, kernelMajor }: HostPlatform): string[] {
  const machine = arch === "x64" ? "x86_64" : "aarch64";
  if (os === "linux") {
    const minors = Array.from({ length: Math.max(0, glibcMinor - 16) }, (_, index) => glibcMinor - index);
    return [...minors.map((minor) => `manylinux_2_${minor}_${machine}`), `manylinux2014_${machine}`];
  }
  if (os === "win32") return ["win_amd64"];
  const newest = kernelMajor >= 25 ? kernelMajor + 1 : kernelMajor - 9;
  return Array.from({ length: Math.max(0, newest - 10) }, (_, index) => `macosx_${newest - index}_0_arm64`);
}

function pipFailed(cause: Error & { stderr?: string }): ServingError {
  const last = pipErrorText(cause.stderr ?? reasonText(cause));
  const message = `pip could not download the wheel: ${last}. Download it elsewhere and pass it with --wheel FILE.`;
  return new ServingError("unavailable", message, { cause });
}
