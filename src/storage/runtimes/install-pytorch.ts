import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { limitedSignal } from "../../platform/async/cancel-source.ts";
import { megabytes } from "../../platform/text/size-text.ts";
import { followRedirects } from "../http/follow-redirects.ts";
import { pytorch } from "./native-runtimes.ts";
import {
  createEnvironment,
  findBasePython,
  interpreterIn,
  makeMovable,
  type PipOptions,
  runPip,
  updatePip,
} from "./python.ts";
import type { Reporter } from "./reporter.ts";
import { runProgram } from "./run-program.ts";
import { checkSpace, compareVersions, installedRuntimes, writeManifest } from "./runtimes-folder.ts";
import { type Installation, stageRuntime } from "./staging.ts";

/** Options for installing PyTorch. */
export interface InstallPytorchOptions {
  /** Default: the newest CPU build in the index, else its newest version. */
  readonly version?: string | undefined;
  /** An environment that is there, which is only remembered. */
  readonly path?: string | undefined;
  /** The runtimes folder. */
  readonly root: string;
  /** Replaces an installation of the same version. */
  readonly force: boolean;
  /** Accepts a build with CUDA, which is many times as large. */
  readonly acceptsCuda: boolean;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Creates a Python environment with torch and numpy in the runtimes folder, completely or not at all. An existing one
 * is kept, unless `force` or a version is given.
 */
export async function installPytorch(options: InstallPytorchOptions): Promise<Installation> {
  const { root, force, version, path } = options;
  const present = force || path !== undefined ? undefined : findInstalled(root, version);
  if (present !== undefined) return { runtime: present, isNew: false };
  return stageRuntime(pytorch.name, {
    root,
    force,
    fill: (folder, scratch) =>
      path === undefined ? fillEnvironment(options, { folder, scratch }) : register(path, folder, options),
    find: (installed) => findInstalled(root, installed),
  });
}

/** A version without its build means the build that was chosen for it. */
function findInstalled(root: string, wanted: string | undefined) {
  const installed = installedRuntimes(pytorch.name, root);
  return installed.find(
    ({ version }) => wanted === undefined || version === wanted || version.split("+")[0] === wanted,
  );
}

interface Folders {
  readonly folder: string;
  readonly scratch: string;
}

async function fillEnvironment(options: InstallPytorchOptions, { folder, scratch }: Folders): Promise<string> {
  const { signal, reporter } = options;
  const base = await findBasePython();
  reporter.step(`Making a Python environment with ${base.path} (Python ${base.version})`);
  const interpreter = await createEnvironment(base, folder, signal);
  const pip = { signal, scratch };
  await updatePip(interpreter, pip);
  const requirements = await choosePackages(interpreter, options, pip);
  const onLine = (line: string) => {
    // The names of the installed packages need not be logged.
    if (TELLING.test(line)) reporter.step(line.trim().replace(/: .*/, ""));
  };
  await runPip(interpreter, ["install", "--progress-bar", "off", ...requirements], { ...pip, onLine });
  const version = await askTorch(interpreter, signal);
  await makeMovable(interpreter);
  await writeManifest(folder, { source: `pip install ${requirements.join(" ")}`, files: {} });
  return version;
}

/** Lines in which pip reports its longer steps. */
const TELLING = /^\s*(Downloading|Installing collected packages)/;

/**
 * Packages to ask pip for; reports the size of the download. Throws `failed_precondition` if it is more than was
 * agreed to.
 */
async function choosePackages(
  interpreter: string,
  { version, acceptsCuda, signal, reporter, root }: InstallPytorchOptions,
  pip: PipOptions,
): Promise<string[]> {
  reporter.step("Asking pip which builds of torch there are");
  const versions = parseVersions(await runPip(interpreter, ["index", "versions", "torch"], pip));
  const requirements = [`torch==${chooseTorch(versions, version)}`, ...pytorch.needs];
  const plan = ["install", "--quiet", "--dry-run", "--report", "-", ...requirements];
  const packages = parseReport(await runPip(interpreter, plan, pip));
  const size = await findDownloadSize(
    packages.map(({ url }) => url),
    signal,
  );
  const costs = describe(packages, size);
  if (hasCuda(packages) && !acceptsCuda) throw cudaOnly(costs);
  reporter.step(`Installing ${costs}`);
  await checkSpace(root, UNPACKED * size.bytes);
  return requirements;
}

/** The disk has the wheels and their contents at the same time, so torch needs twice its size. */
const UNPACKED = 3;

function describe(packages: readonly PlannedPackage[], { bytes, isComplete }: DownloadSize): string {
  const torch = packages.find(({ name }) => name === "torch");
  const others = packages.length - 1;
  return `torch ${torch?.version} and ${others} other packages, ${isComplete ? "" : "at least "}${megabytes(bytes)} to download`;
}

function cudaOnly(costs: string): ServingError {
  const message = `The package index has no CPU build of torch, but one with CUDA: ${costs}, about twice that on disk. --yes takes it all the same; PIP_INDEX_URL or PIP_EXTRA_INDEX_URL name an index with CPU builds, as PyTorch's own site lists one; apt-get install python3-torch has a CPU build too.`;
  return failedPrecondition(message);
}

async function register(path: string, folder: string, { signal }: InstallPytorchOptions): Promise<string> {
  const interpreter = interpreterIn(resolve(path));
  const found = await stat(interpreter).catch(() => undefined);
  if (found === undefined) {
    const message = `${path} is not a Python environment: it has no ${interpreterIn("")}.`;
    throw failedPrecondition(message);
  }
  const version = await askTorch(interpreter, signal);
  await writeManifest(folder, { source: resolve(path), folder: resolve(path), files: {} });
  return version;
}

/** Imports the modules that the driver needs; throws `failed_precondition` if that fails. */
async function askTorch(interpreter: string, signal: AbortSignal): Promise<string> {
  const program = "import numpy, torch; print(torch.__version__)";
  const { code, stdout, stderr } = await runProgram([interpreter, "-I", "-c", program], { signal }).catch((cause) => {
    signal.throwIfAborted();
    throw failedPrecondition(`${interpreter} does not start: ${reasonText(cause)}`, cause);
  });
  if (code === 0) return stdout.trim();
  const message = `torch cannot be imported there: ${stderr.trim().split("\n").at(-1)}`;
  throw failedPrecondition(message, new Error(stderr));
}

/**
 * Mark of builds without CUDA in indexes:
 * https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers.
 */
const CPU = "+cpu";

/** Reads what `pip index versions` prints: versions that have a file for this Python and system. */
export function parseVersions(printed: string): string[] {
  const [, list = ""] = /^Available versions: (.*)$/m.exec(printed) ?? [];
  return list.split(",").flatMap((version) => version.trim() || []);
}

/** The version to install: a CPU build if there is one. Throws `not_found` for a version that is not there. */
export function chooseTorch(versions: readonly string[], wanted: string | undefined): string {
  const newestFirst = [...versions].sort((a, b) => compareVersions(b, a));
  const candidates =
    wanted === undefined ? newestFirst : [`${wanted}${CPU}`, wanted].filter((each) => versions.includes(each));
  const chosen = candidates.find((version) => version.endsWith(CPU)) ?? candidates[0];
  if (chosen !== undefined) return chosen;
  const message = `The package index has no torch ${wanted} for this Python; it has ${newestFirst.slice(0, 6).join(", ")}.`;
  throw new ServingError("not_found", message);
}

/** A package that pip would install. */
interface PlannedPackage {
  readonly name: string;
  readonly version: string;
  /** May be a file's. */
  readonly url: string;
}

interface PipReport {
  readonly install: readonly {
    readonly metadata: { readonly name: string; readonly version: string };
    readonly download_info: { readonly url: string };
  }[];
}

/** Reads pip's installation report: https://pip.pypa.io/en/stable/reference/installation-report. */
export function parseReport(json: string): PlannedPackage[] {
  const { install } = JSON.parse(json) as PipReport;
  return install.map(({ metadata: { name, version }, download_info: { url } }) => ({ name, version, url }));
}

/** Checks if some of the packages are CUDA's. */
export function hasCuda(packages: readonly PlannedPackage[]): boolean {
  return packages.some(({ name, version }) => /^nvidia[-_]/.test(name) || /\+cu\d/.test(version));
}

/** Milliseconds that a request for the size may take; it is worth no more waiting. */
const HEAD_MS = 10_000;

/** Number of bytes to download, as far as the servers report it. */
interface DownloadSize {
  readonly bytes: number;
  /** False if some servers do not report it. */
  readonly isComplete: boolean;
}

/** Requests the sizes of files; never fails without an answer. */
async function findDownloadSize(urls: readonly string[], signal: AbortSignal): Promise<DownloadSize> {
  const sizes = await Promise.all(urls.map((url) => sizeOf(url, signal).catch(() => undefined)));
  return { bytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0), isComplete: !sizes.includes(undefined) };
}

async function sizeOf(url: string, signal: AbortSignal): Promise<number | undefined> {
  if (url.startsWith("file:")) return (await stat(fileURLToPath(url))).size;
  const headers = { "accept-encoding": "identity" };
  const asked = { method: "HEAD", headers, signal: limitedSignal(signal, HEAD_MS) } as const;
  const { statusCode, headers: told } = (await followRedirects(new URL(url), asked)).resume();
  const length = statusCode === 200 ? told["content-length"] : undefined;
  return length === undefined ? undefined : Number(length);
}
