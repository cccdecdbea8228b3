import { release } from "node:os";
import { ServingError } from "../../errors.ts";
import type { IndexFile } from "./package-index.ts";
import { compareVersions } from "./runtimes-folder.ts";

/** A wheel that an index offers. */
interface OfferedWheel extends WheelName, Omit<IndexFile, "name"> {}

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

/** Facts in a wheel's file name (https://packaging.python.org/specifications/binary-distribution-format). */
interface WheelName {
  readonly fileName: string;
  /** The project, with `_` for every run of `-`, `_` and `.`. */
  readonly project: string;
  readonly version: string;
  /** For example `cp313`, or `cp313t` without the interpreter lock. */
  readonly abi: string;
  /** Any one of them suffices. */
  readonly platforms: readonly string[];
}

/** Reads a wheel's file name; undefined for another kind of file. */
export function toWheelName(fileName: string): WheelName | undefined {
  const match = /^([^-/\\]+)-([^-/\\]+)(?:-\d[^-/\\]*)?-[^-/\\]+-([^-/\\]+)-([^-/\\]+)\.whl$/.exec(fileName);
  if (match === null) return undefined;
  const [, project = "", version = "", abi = "", platforms = ""] = match;
  return { fileName, project: project.toLowerCase(), version, abi, platforms: platforms.split(".") };
}

/**
 * Checks that the libraries in a wheel of this platform tag run here. Python's version is irrelevant: the libraries do
 * not use it.
 */
export function runsHere(tag: string, host: HostPlatform): boolean {
  const need = toNeed(tag);
  if (need === undefined || need.os !== host.os || !need.arches.includes(host.arch)) return false;
  if (need.glibcMinor !== undefined) return (host.glibcMinor ?? -1) >= need.glibcMinor;
  return host.kernelMajor >= (need.kernelMajor ?? 0);
}

/** Requirements of a platform tag. */
interface PlatformNeed {
  readonly os: NodeJS.Platform;
  readonly arches: readonly string[];
  readonly glibcMinor?: number;
  readonly kernelMajor?: number;
}

/** The names that glibc versions had in tags before they were spelt out (PEP 513, 571, 599). */
const OLD_MANYLINUX: Readonly<Record<string, number>> = { manylinux1: 5, manylinux2010: 12, manylinux2014: 17 };
const ARCHES: Readonly<Record<string, readonly string[]>> = {
  x86_64: ["x64"],
  amd64: ["x64"],
  aarch64: ["arm64"],
  arm64: ["arm64"],
  universal2: ["x64", "arm64"],
};

/** Reads a platform tag such as `manylinux_2_28_x86_64`; undefined for one that no runtime is built for. */
function toNeed(tag: string): PlatformNeed | undefined {
  const [, system = "", machine = ""] = /^(.+?)_(x86_64|aarch64|arm64|amd64|universal2)$/.exec(tag) ?? [];
  const arches = ARCHES[machine];
  if (arches === undefined) return undefined;
  if (system === "win") return { os: "win32", arches };
  const [, minor] = /^manylinux_2_(\d+)$/.exec(system) ?? [];
  const glibcMinor = minor === undefined ? OLD_MANYLINUX[system] : Number(minor);
  if (glibcMinor !== undefined) return { os: "linux", arches, glibcMinor };
  const [, macos, macosMinor] = /^macosx_(\d+)_(\d+)$/.exec(system) ?? [];
  return macos === undefined
    ? undefined
    : { os: "darwin", arches, kernelMajor: toDarwin(Number(macos), Number(macosMinor)) };
}

/** The kernel of a macOS version: 10.15 has Darwin 19, 11 has 20 and so on to 15; 26, named after the year, has 25. */
function toDarwin(major: number, minor: number): number {
  if (major === 10) return minor + 4;
  return major < 26 ? major + 9 : major - 1;
}

/** Facts that decide which binaries run here. */
export interface HostPlatform {
  readonly os: NodeJS.Platform;
  readonly arch: string;
  /** Minor version of glibc 2, for Linux; undefined if there is none, as on Alpine. */
  readonly glibcMinor?: number;
  /** Major version of the system's kernel; for macOS, whose version follows from it. */
  readonly kernelMajor: number;
}

/** The platform that this process runs on. */
export function hostPlatform(): HostPlatform {
  const { platform: os, arch } = process;
  const minor = os === "linux" ? glibcMinor() : undefined;
  return { os, arch, kernelMajor: Number.parseInt(release(), 10), ...(minor !== undefined && { glibcMinor: minor }) };
}

function glibcMinor(): number | undefined {
  // Without this the report would first resolve the names of all open connections.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const [, minor] = /^2\.(\d+)/.exec(header?.glibcVersionRuntime ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

/** The platform in messages: `Linux x64 with glibc 2.36`. */
export function describePlatform({ os, arch, glibcMinor }: HostPlatform): string {
  const names: Partial<Record<NodeJS.Platform, string>> = { linux: "Linux", darwin: "macOS", win32: "Windows" };
  const libc = glibcMinor === undefined ? " without glibc (musl, as on Alpine)" : ` with glibc 2.${glibcMinor}`;
  return `${names[os] ?? os} ${arch}${os === "linux" ? libc : ""}`;
}
