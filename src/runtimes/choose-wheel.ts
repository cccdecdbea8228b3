import { ServingError } from "../errors.ts";
import { describePlatform, type HostPlatform } from "./host-platform.ts";
import type { IndexFile } from "./package-index.ts";
import { compareVersions } from "./runtimes-folder.ts";
import { runsHere, toNeed, toWheelName, type WheelName } from "./wheel-name.ts";

/** A wheel that an index offers. */
export interface OfferedWheel extends WheelName, Omit<IndexFile, "name"> {}

/** The wheel that is wanted. */
export interface WantedWheel {
  readonly project: string;
  readonly version: string;
  readonly host: HostPlatform;
}

/**
 * The wheel of a version with libraries for a platform. Throws `not_found` with the available versions or platforms.
 */
export function chooseWheel(files: readonly IndexFile[], wanted: WantedWheel): OfferedWheel {
  const wheels = files.flatMap(({ name, ...file }) => {
    const wheel = toWheelName(name);
    return wheel === undefined ? [] : [{ ...wheel, ...file }];
  });
  const ofVersion = wheels.filter(({ version }) => version === wanted.version);
  // All have the same libraries; the last by name is the one for the newest Python.
  const [best] = ofVersion.filter((wheel) => isUsable(wheel, wanted.host)).sort(byPreference);
  if (best !== undefined) return best;
  throw ofVersion.length === 0 ? noSuchVersion(wheels, wanted) : noSuchPlatform(ofVersion, wanted);
}

function isUsable({ platforms }: WheelName, host: HostPlatform): boolean {
  return platforms.some((tag) => runsHere(tag, host));
}

/** Withdrawn ones last, and then those for a Python without its lock. */
function byPreference(a: OfferedWheel, b: OfferedWheel): number {
  const rank = ({ yanked, abi }: OfferedWheel) => (yanked ? 2 : 0) + (abi.endsWith("t") ? 1 : 0);
  return rank(a) - rank(b) || compareVersions(b.fileName, a.fileName);
}

function noSuchVersion(wheels: readonly OfferedWheel[], { project, version, host }: WantedWheel): ServingError {
  const here = wheels.filter((wheel) => !wheel.yanked && isUsable(wheel, host));
  const versions = [...new Set(here.map((wheel) => wheel.version))].sort(compareVersions).reverse();
  const known = versions.length === 0 ? "no version at all" : versions.slice(0, 6).join(", ");
  const message = `The package index has no wheel ${project} ${version}. For ${describePlatform(host)} it has ${known}; choose one with --version.`;
  return new ServingError("not_found", message);
}

function noSuchPlatform(wheels: readonly OfferedWheel[], { project, version, host }: WantedWheel): ServingError {
  const tags = [...new Set(wheels.flatMap(({ platforms }) => platforms))].sort();
  const message = `${project} ${version} has no wheel for ${describePlatform(host)}, only for ${tags.join(", ")}. ${adviceFor(tags, host)}`;
  return new ServingError("not_found", message);
}

function adviceFor(tags: readonly string[], { os, arch, glibcMinor }: HostPlatform): string {
  const needs = tags.map(toNeed).filter((need) => need?.os === os && need.arches.includes(arch));
  const minor = Math.min(...needs.map((need) => need?.glibcMinor ?? Number.POSITIVE_INFINITY));
  if (!Number.isFinite(minor)) return "Choose another version with --version, or pass an installation with --path DIR.";
  if (glibcMinor === undefined) return "Use a system with glibc, for example a Debian-based image instead of Alpine.";
  return `It needs glibc 2.${minor}: use a newer system, or an older version with --version.`;
}
