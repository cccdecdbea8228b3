import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLogFile } from "../../src/observability/log-file.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("lines are appended, and are in the file when write returns", () => {
  const path = join(tempFolder({ "kserving.log": "old\n" }), "kserving.log");
  openLogFile(path).write("é\n");
  expect(readFileSync(path, "utf8")).toBe("old\né\n");
});

test("a file that cannot be opened is refused with its path", () => {
  const path = join(tempFolder(), "no-such-folder", "kserving.log");
  expect(() => openLogFile(path)).toThrow(
    expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^The log file .*kserving\.log cannot be written: ENOENT.* Choose another with --log-path\.$/,
      ),
    }),
  );
});
