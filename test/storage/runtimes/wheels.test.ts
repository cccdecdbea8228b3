import { describe, expect, test } from "vitest";
import { chooseWheel, type HostPlatform, runsHere, toWheelName } from "../../../src/storage/runtimes/wheels.ts";

const HOST: HostPlatform = { os: "linux", arch: "x64", glibcMinor: 31, kernelMajor: 6 };

function offered(...names: string[]) {
  return names.map((text) => {
    const [name = "", mark] = text.split(" ");
    return { name, url: `http://index/${name}`, sha256: undefined, yanked: mark === "yanked" };
  });
}

const FILES = offered(
  "toy-1.0-cp39-cp39-manylinux2014_x86_64.whl",
  "toy-2.0-cp39-cp39-manylinux2014_x86_64.whl",
  "toy-2.0-cp310-cp310-manylinux2014_x86_64.whl",
  "toy-2.0-cp310-cp310-macosx_12_0_arm64.whl",
  "toy-2.0-cp310-cp310t-manylinux2014_x86_64.whl",
  "toy-2.0-cp311-cp311-manylinux2014_x86_64.whl yanked",
  "toy-2.1rc1-cp310-cp310-manylinux2014_x86_64.whl",
  "toy-10.0-cp310-cp310-manylinux_2_35_x86_64.whl",
  "toy-2.0.tar.gz",
);

const choose = (version: string, host = HOST) => chooseWheel(FILES, { project: "toy", version, host });

test("takes the newest Python's wheel, not one that was withdrawn and not one for a Python without its lock", () => {
  expect(choose("2.0").fileName).toBe("toy-2.0-cp310-cp310-manylinux2014_x86_64.whl");
});

test("names the versions for this platform, newest first, when the one asked for is not there", () => {
  expect(() => choose("3.0")).toThrow(
    "The package index has no wheel toy 3.0. For Linux x64 with glibc 2.31 it has 2.1rc1, 2.0, 1.0; choose one with --version.",
  );
});

test("names the glibc that a version needs", () => {
  expect(() => choose("10.0")).toThrow(
    "toy 10.0 has no wheel for Linux x64 with glibc 2.31, only for manylinux_2_35_x86_64. It needs glibc 2.35: use a newer system, or an older version with --version.",
  );
});

test("says on Alpine that glibc is missing", () => {
  const { glibcMinor, ...alpine } = HOST;
  expect(() => choose("2.0", alpine)).toThrow("Use a system with glibc, for example a Debian-based image");
});

test("names the platforms that there are for one that has no wheel", () => {
  const windows: HostPlatform = { os: "win32", arch: "x64", kernelMajor: 10 };
  expect(() => choose("2.0", windows)).toThrow(
    "toy 2.0 has no wheel for Windows x64, only for macosx_12_0_arm64, manylinux2014_x86_64.",
  );
});

const LINUX: HostPlatform = { os: "linux", arch: "x64", glibcMinor: 31, kernelMajor: 6 };
const ALPINE: HostPlatform = { os: "linux", arch: "x64", kernelMajor: 6 };
/** macOS 14 */
const MAC: HostPlatform = { os: "darwin", arch: "arm64", kernelMajor: 23 };
const WINDOWS: HostPlatform = { os: "win32", arch: "x64", kernelMajor: 10 };

describe("toWheelName", () => {
  test("reads a name with a build number and several platforms", () => {
    const name = "openvino-2026.4.1-22982-cp314-cp314t-manylinux2014_x86_64.manylinux_2_17_x86_64.whl";
    expect(toWheelName(name)).toEqual({
      fileName: name,
      project: "openvino",
      version: "2026.4.1",
      abi: "cp314t",
      platforms: ["manylinux2014_x86_64", "manylinux_2_17_x86_64"],
    });
  });

  test.each(["tensorflow-2.21.0.tar.gz", "a.whl", "a-b-c-d-e-f-g.whl", "", "../a-1-b-c-d.whl", "a-1-b-c-..\\d.whl"])(
    "takes %s for no wheel",
    (name) => {
      expect(toWheelName(name)).toBeUndefined();
    },
  );
});

test.each([
  ["manylinux_2_31_x86_64", LINUX, true],
  ["manylinux_2_32_x86_64", LINUX, false],
  ["manylinux2014_x86_64", LINUX, true],
  ["manylinux_2_17_aarch64", LINUX, false],
  ["musllinux_1_2_x86_64", LINUX, false],
  ["linux_armv7l", LINUX, false],
  ["any", LINUX, false],
  ["manylinux1_x86_64", ALPINE, false],
  ["macosx_14_0_arm64", MAC, true],
  ["macosx_15_0_arm64", MAC, false],
  ["macosx_26_0_arm64", MAC, false],
  ["macosx_26_0_arm64", { ...MAC, kernelMajor: 25 }, true],
  ["macosx_10_15_universal2", MAC, true],
  ["macosx_11_0_x86_64", MAC, false],
  ["win_amd64", WINDOWS, true],
  ["win_amd64", LINUX, false],
  ["win_arm64", WINDOWS, false],
] as const)("%s for %j: %s", (tag, host, expected) => {
  expect(runsHere(tag, host)).toBe(expected);
});
