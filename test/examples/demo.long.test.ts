import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("npm run demo -- --once answers every photo as expected on both wires, and ends", { timeout: 60_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "scripts/demo.ts", "--once"]);
  expect(stdout).toMatch(/^portrait\.jpg +1 +happy +\d+ ms +\d+ ms$/m);
  expect(stdout).toMatch(/^no-faces\.jpg +0 +\(second model skipped\)/m);
  expect(stdout).toMatch(/All as expected, on both wires\.\n$/);
});
