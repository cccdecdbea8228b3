import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { hasProgram } from "../helpers/has-program.ts";

test.runIf(process.platform === "linux" && hasProgram("gcc"))(
  "a failed call of each kind costs an answer or the start, and never the next start",
  async () => {
    const args = ["tsx", "scripts/check-faults.ts", "--sample"];
    const { stdout } = await promisify(execFile)("npx", args).catch((reason) => reason as { readonly stdout: string });
    expect(stdout).toMatch(/all held\n$/);
  },
);
