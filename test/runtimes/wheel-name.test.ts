import { describe, expect, test } from "vitest";
import type { HostPlatform } from "../../src/runtimes/host-platform.ts";
import { runsHere, toWheelName } from "../../src/runtimes/wheel-name.ts";

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
