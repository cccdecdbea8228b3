import { expect, test } from "vitest";
import { chooseTorch, hasCuda, parseReport, parseVersions } from "../../../src/storage/runtimes/install-pytorch.ts";

const VERSIONS = ["2.9.0", "2.15.0", "2.15.0+cu130", "2.15.0+cpu", "2.9.0+cpu"];

test.each([
  [VERSIONS, undefined, "2.15.0+cpu"],
  [["2.9.0", "2.15.0"], undefined, "2.15.0"],
  [VERSIONS, "2.9.0", "2.9.0+cpu"],
  [VERSIONS, "2.15.0+cu130", "2.15.0+cu130"],
])("of %j for %s it is %s", (versions, wanted, expected) => {
  expect(chooseTorch(versions, wanted)).toBe(expected);
});

test("a version that is not there is refused with the newest ones", () => {
  expect(() => chooseTorch(["2.9.0", "2.15.0"], "1.13.0")).toThrow(
    "The package index has no torch 1.13.0 for this Python; it has 2.15.0, 2.9.0.",
  );
});

test("versions are read from what pip prints", () => {
  expect(parseVersions("torch (2.15.0)\nAvailable versions: 2.15.0, 2.9.0+cpu\n  INSTALLED: 2.9.0")).toEqual([
    "2.15.0",
    "2.9.0+cpu",
  ]);
  expect(parseVersions("")).toEqual([]);
});

test.each([
  ["torch", "2.15.0+cpu", false],
  ["torch", "2.15.0+cu130", true],
  ["nvidia-cudnn-cu13", "9.26.0", true],
])("pip's report of %s %s says whether there is CUDA in it: %s", (name, version, expected) => {
  const report = { version: "1", install: [{ metadata: { name, version }, download_info: { url: "file:///w.whl" } }] };
  const packages = parseReport(JSON.stringify(report));
  expect(packages).toEqual([{ name, version, url: "file:///w.whl" }]);
  expect(hasCuda(packages)).toBe(expected);
});
