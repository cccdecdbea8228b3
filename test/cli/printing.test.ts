import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";

const MODEL = "test/fixtures/models/half-plus-two.onnx";

/** Runs a line of a shell in which `kserving` is this program. */
function shell(line: string) {
  const script = `kserving() { '${process.execPath}' bin/kserving.cjs "$@"; }; ${line}`;
  return spawnSync("bash", ["-o", "pipefail", "-c", script], { encoding: "utf8" });
}

test("a command whose reader has left ends as it would have", () => {
  const { status, stderr } = shell(`kserving infer ${MODEL} --input x=[1] --json | true`);
  expect([status, stderr]).toEqual([0, ""]);
});

test.skipIf(!existsSync("/dev/full"))("a command whose output does not fit on the disk fails", () => {
  for (const command of ["drivers --json", "completion --json"]) {
    const { status, stderr } = shell(`kserving ${command} >/dev/full`);
    expect([status, stderr]).toEqual([1, expect.stringContaining("The output does not fit: the disk is full")]);
  }
});
