import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import {
  checkSpace,
  compareVersions,
  installedRuntimes,
  runtimesFolder,
  toDiskError,
} from "../../../src/storage/runtimes/runtimes-folder.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

describe("runtimesFolder", () => {
  test.each([
    [{}, "linux", "/home/me", "/home/me/.local/share/kserving/runtimes"],
    [{ XDG_DATA_HOME: "/data" }, "linux", "/home/me", "/data/kserving/runtimes"],
    [{ XDG_DATA_HOME: "not/absolute" }, "linux", "/home/me", "/home/me/.local/share/kserving/runtimes"],
    [{}, "darwin", "/Users/me", "/Users/me/Library/Application Support/kserving/runtimes"],
    [{ LOCALAPPDATA: "D:\\Local" }, "win32", "C:\\Users\\me", "D:\\Local\\kserving\\runtimes"],
    [{}, "win32", "C:\\Users\\me", "C:\\Users\\me\\AppData\\Local\\kserving\\runtimes"],
    [{ KSERVING_RUNTIMES_DIR: "/mine", XDG_DATA_HOME: "/data" }, "linux", "/home/me", "/mine"],
    [{ KSERVING_RUNTIMES_DIR: "" }, "linux", "/home/me", "/home/me/.local/share/kserving/runtimes"],
  ] as const)("with %j on %s", (env, platform, home, expected) => {
    expect(runtimesFolder(env, platform, home)).toBe(expected);
  });
});

describe("installedRuntimes", () => {
  test("are the complete ones, newest first", () => {
    const manifest = JSON.stringify({ source: "x.whl", files: {} });
    const root = tempFolder({
      "toy/2.9.1/runtime.json": manifest,
      "toy/2.21.0rc1/runtime.json": manifest,
      "toy/2.21.0/runtime.json": JSON.stringify({ source: "/opt/toy", folder: "/opt/toy/lib", files: {} }),
      "toy/3.0/libtoy.so": "no manifest",
      "toy/4.0/runtime.json": "{",
      "toy/.host+1+0/runtime.json": manifest,
      "toy/5.0": "a file",
      "other/6.0/runtime.json": manifest,
    });
    expect(installedRuntimes("toy", root).map(({ version, folder }) => [version, folder])).toEqual([
      ["2.21.0", "/opt/toy/lib"],
      ["2.21.0rc1", `${root}/toy/2.21.0rc1`],
      ["2.9.1", `${root}/toy/2.9.1`],
    ]);
  });

  test("are none where there is no folder", () => {
    expect(installedRuntimes("toy", "/nowhere")).toEqual([]);
  });
});

test("versions are compared by their numbers, pre-releases before releases", () => {
  const sorted = ["2.9.1", "2.9.1.post1", "2.21.0.dev3", "2.21.0a1", "2.21.0b1", "2.21.0rc1", "2.21.0", "2026.4.1"];
  expect([...sorted].reverse().sort(compareVersions)).toEqual(sorted);
});

test("refuses what the disk has no room for, with both figures", async () => {
  await expect(checkSpace(tmpdir(), 1e18)).rejects.toThrow(/is full: 1000000000000 MB are needed, [\d.]+ MB are free/);
  await expect(checkSpace(tmpdir(), 1)).resolves.toBeUndefined();
});

test.runIf(existsSync("/dev/full"))("a write that finds the disk full says what to do", () => {
  const failure = (() => {
    try {
      writeFileSync("/dev/full", "x");
    } catch (reason) {
      return toDiskError(reason, "/runtimes");
    }
  })();
  expect(failure).toBeInstanceOf(ServingError);
  expect(failure).toMatchObject({ code: "resource_exhausted", message: expect.stringContaining("Make room") });
});

test("leaves other errors alone", () => {
  const other = new Error("other");
  expect(toDiskError(other, "/runtimes")).toBe(other);
  expect(toDiskError(undefined, "/runtimes")).toBeUndefined();
});
