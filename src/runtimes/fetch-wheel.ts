import { join } from "node:path";
import { failedPrecondition, ServingError } from "../errors.ts";
import { chooseWheel, type WantedWheel } from "./choose-wheel.ts";
import { download } from "./download.ts";
import { findIndexUrl } from "./index-url.ts";
import { listIndexFiles } from "./package-index.ts";
import { findPip, pipDownload } from "./pip-download.ts";
import type { Reporter } from "./reporter.ts";

/** Fetcher of a wheel: this program, from a package index; or pip. */
export type WheelSource = "index" | "pip";

/** Source and target of a wheel. */
export interface FetchWheelOptions {
  /** Default: the index, and pip where the index cannot be reached. */
  readonly from: WheelSource | undefined;
  /** An empty folder for the wheel. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Fetches the wheel of a version for a platform, without any Python where the index
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
