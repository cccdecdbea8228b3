import type { HostPlatform } from "./host-platform.ts";

/** Facts in a wheel's file name (https://packaging.python.org/specifications/binary-distribution-format). */
export interface WheelName {
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
export interface PlatformNeed {
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
export function toNeed(tag: string): PlatformNeed | undefined {
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
