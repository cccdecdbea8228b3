import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand } from "./run-command.ts";

const half = fileURLToPath(new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url));

test("tune prints what it knows when its time is over, and names what it had no time for", async () => {
  const { code, stdout } = await runCommand(["tune", half, "--driver", "onnx", "--driver", "openvino", "--time", "12"]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Setting +Concurrency +Requests\/s +p50 ms/)]);
  expect(stdout).toMatch(/^onnx \(default\) +\d+ +[\d.]+/m);
  expect(stdout).toMatch(/^no time for: .*\(--time gives more\)$/m);
  expect(stdout).toMatch(
    /^(?:The defaults are best of what there was time for|There was time for the defaults alone|Best: |The defaults are best: )/m,
  );
});

test("tune ends with 1 where nothing meets the goal, after variations of the nearest", async () => {
  const { code, stdout, stderr } = await runCommand([
    "tune",
    half,
    "--driver",
    "onnx",
    "--goal",
    "p50=0.001us",
    "--json",
  ]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("Nothing meets p50=0.001us.")]);
  const { goal, trials, best } = JSON.parse(stdout);
  expect([goal, best]).toEqual(["p50=0.001us", undefined]);
  const tried = trials.map(({ candidate }: { readonly candidate: object }) => candidate);
  expect(tried).toContainEqual({ driver: "onnx", options: {}, instances: 1, threads: 1 });
  expect(tried.at(-1)).toMatchObject({ options: { graph_optimization_level: "extended" } });
  expect(trials[0].levels[0]).toMatchObject({ concurrency: 1, failures: {} });
});
