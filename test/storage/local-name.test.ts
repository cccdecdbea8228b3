import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claimPath } from "../../src/storage/local-name.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("a claim is where KServe mounts it: all of it, or what is at its path", () => {
  const root = tempFolder();
  mkdirSync(join(root, "models"));
  expect(claimPath("pvc://claim/a/face", root)).toBe(join(root, "models"));
  writeFileSync(join(root, "models/m.onnx"), "");
  expect(claimPath("pvc://claim/a/m.onnx", root)).toBe(join(root, "models/m.onnx"));
  mkdirSync(join(root, "pvc/a/face"), { recursive: true });
  expect(claimPath("pvc://claim/a/face/", root)).toBe(join(root, "pvc/a/face"));
  expect(claimPath("pvc://claim", root)).toBe(join(root, "pvc"));
});

test.each([
  [
    "pvc://claim/m",
    /pvc:\/\/claim\/m is not mounted: neither .*pvc\/m nor .*models is there; expected the claim as a volume at /,
  ],
  ["pvc:///m", /pvc:\/\/\/m has no claim's name; expected pvc:\/\/CLAIM\/PATH/],
  ["pvc://claim/../../etc", /the name "\.\.\/\.\.\/etc" cannot be a file's below its folder/],
])("%s is an error that says what to do", (path, message) => {
  expect(() => claimPath(path, tempFolder())).toThrow(message);
});

test("other paths stay", () => {
  expect(["models/a", "s3://b/m"].map((path) => claimPath(path))).toEqual(["models/a", "s3://b/m"]);
});
