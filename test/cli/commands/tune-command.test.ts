import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand } from "./run-command.ts";

const half = fileURLToPath(new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url));

test.each([
  [[half, "--goal", "20ms"], 2, "expected a latency with its bound"],
  [["none.onnx", "--driver", "onnx"], 1, 'No driver runs the model; onnx: The model "'],
  [["none.onnx"], 1, "No driver runs the model; onnx, openvino: The model"],
  [["localhost:9001"], 2, "kserving bench http://localhost:9001/v2/models/NAME measures"],
  [[half, "--shape", "y=1", "--driver", "onnx"], 1, 'onnx: --shape names the input "y"; the model has x.'],
] as const)("tune %j ends with %i", async (args, code, message) => {
  const outcome = await runCommand(["tune", ...args]);
  expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("without a driver that runs the model there is nothing but the reason", async () => {
  expect(await runCommand(["tune", "none.onnx"])).toMatchObject({ code: 1, stdout: "" });
});
