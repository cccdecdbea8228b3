import { expect, test } from "vitest";
import { lostPackage } from "../src/lost-package.ts";

// As the packages say it: koffi 3.3, sharp 0.35, esbuild 0.28.
test.each([
  ["koffi", "Cannot find the native Koffi module; did you bundle it correctly?"],
  ["sharp", 'Could not load the "sharp" module using the linux-x64 runtime\nPossible solutions:\n- Ensure'],
  ["esbuild", 'The package "@esbuild/linux-x64" could not be found, and is needed by esbuild.'],
])("%s without its part for this platform is named, with what to do", (name, text) => {
  expect(lostPackage(new Error(text))).toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(
      `^kserving's package ${name} lacks its part for .*Install kserving here again, without those flags\\.$`,
    ),
  });
});

test("any other error is none of its business", () => {
  expect(lostPackage(new Error("Cannot find module 'x'"))).toBeUndefined();
});
