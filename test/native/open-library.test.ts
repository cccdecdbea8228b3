import { expect, test } from "vitest";
import { openLibrary } from "../../src/native/open-library.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test.each([
  ["that is none", { "libtoy.so": "no library" }],
  ["that is empty", { "libtoy.so": "" }],
  ["that is not there", {}],
])("refuses a library %s, by its path and with the system's reason", (_what, files) => {
  const path = `${tempFolder(files as Record<string, string>)}/libtoy.so`;
  expect(() => openLibrary(path)).toThrow(
    expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringMatching(/^The library ".*libtoy\.so" cannot be loaded on \w+ \w+: .+\.$/),
    }),
  );
});
