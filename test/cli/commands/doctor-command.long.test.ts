import { expect, test } from "vitest";
import { runCommand } from "./run-command.ts";

test("doctor looks at everything, and its exit code says whether there is a problem", {
  timeout: 120_000,
}, async () => {
  const free = ["--port", "0", "--http-port", "0"];
  const { stdout } = await runCommand(["doctor", "--json", ...free]);
  const checks = JSON.parse(stdout).map(({ check }: { check: string }) => check);
  expect(checks).toEqual(
    expect.arrayContaining(["Node", "Processor", "ONNX Runtime", "OpenVINO", "Settings", "gRPC port"]),
  );
  const { code, stdout: text, stderr } = await runCommand(["doctor", "--http-prt", "1"]);
  expect(code).toBe(1);
  expect(text).toMatch(/^PROBLEM +Settings +.*--http-prt.*\n +→ kserving config check/m);
  expect(stderr).toContain("listed above, with what to do.");
});
