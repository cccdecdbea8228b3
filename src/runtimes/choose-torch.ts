import { ServingError } from "../errors.ts";
import { compareVersions } from "./runtimes-folder.ts";

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

/** The version to install: a CPU build where there is one. Throws `not_found` for a version that is not there. */
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
export interface PlannedPackage {
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
