import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { repeatDriver } from "../../helpers/repeat-driver.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

async function inspect(...args: string[]) {
  const { stdout } = await runCommand(["inspect", ...args, "--json"]);
  return JSON.parse(stdout);
}

test("inspect shows an ONNX model: producer, operators, weights, signatures, and what the drivers say", async () => {
  const path = fixture("models/half-plus-two.onnx");
  expect(await inspect(path, "--driver", "onnx", "--driver", "tensorflow")).toMatchObject({
    format: "ONNX, IR version 8",
    producer: "kserving",
    operators: { Add: 1, Mul: 1 },
    weights: { float32: { tensors: 2, elements: 2, bytes: 8 } },
    metadata: { opset: "ai.onnx 17, ai.onnx.ml 3" },
    memoryBytes: expect.any(Number),
    signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1] }] } },
    drivers: [
      { driver: "onnx", runs: true, runtime: expect.stringContaining("ONNX Runtime") },
      { driver: "tensorflow", runs: false, problem: expect.stringContaining("is not a TensorFlow model") },
    ],
  });
  const { stdout } = await runCommand(["inspect", path, "--driver", "onnx"]);
  expect(stdout).toContain("Operators (2, of 2 kinds)");
  expect(stdout).toMatch(/float32 +2 tensors +2 values +8 bytes/);
  expect(stdout).toMatch(/onnx +runs: ONNX Runtime .*loaded in \d+ ms/);
});

test("inspect says of a model that it answers in parts", async () => {
  const path = repeatDriver();
  const { stdout } = await runCommand(["inspect", path, "--driver", path]);
  expect(stdout).toMatch(/serving_default +x int32\[\?\], act bytes\[1\] → y int32\[1\] in parts$/m);
  const driver = { driver: path, runs: true, decoupled: true };
  expect(await inspect(path, "--driver", path)).toMatchObject({ decoupled: true, drivers: [driver] });
  expect(await inspect(fixture("models/half-plus-two.onnx"), "--driver", "onnx")).not.toHaveProperty("decoupled");
});

test("inspect counts weights in external files, constants and texts", async () => {
  expect((await inspect(fixture("models/external-data.onnx"), "--no-load")).weights.float32.tensors).toBeGreaterThan(0);
  expect((await inspect(fixture("models/string-constant.onnx"), "--no-load")).weights.string.bytes).toBeGreaterThan(0);
});

test.each([
  [
    "tensorflow-formats/js_lstm",
    { format: "TensorFlow.js graph model", operators: { While: 1 }, weights: { float32: { tensors: 7 } } },
  ],
  [
    "tensorflow/string_numbers",
    { format: "TensorFlow SavedModel, version 1", operators: { AsString: 2 }, metadata: { tags: "serve" } },
  ],
  ["openvino/add_multiply", { format: "OpenVINO IR, version 11", operators: { Parameter: expect.any(Number) } }],
])("inspect %s without loading it", async (name, facts) => {
  const found = await inspect(fixture(name), "--no-load");
  expect(found).toMatchObject(facts);
  expect(found.drivers).toEqual([]);
});

test("inspect ends with 1 where no driver can run the model, and says what each refuses", async () => {
  const { code, stdout, stderr } = await runCommand(["inspect", fixture("models/unknown-op.onnx"), "--driver", "onnx"]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/onnx +refuses: /)]);
  expect(stderr).toContain("No driver can run the model; the reasons are listed above.");
});

test.each([
  ["models/truncated.onnx", "is cut short"],
  ["models/lfs-pointer.onnx", "Git LFS pointer"],
  ["models/nowhere.onnx", "No model file at"],
])("inspect refuses %s", async (name, message) => {
  const { code, stderr } = await runCommand(["inspect", fixture(name)]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});

test("inspect --no-load of a file with any flipped byte ends in good order", async () => {
  const bytes = readFileSync(fixture("models/split-two-outputs.onnx"));
  const path = join(tempFolder({ "x.onnx": "" }), "x.onnx");
  for (let at = 0; at < bytes.length; at += 3) {
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ 0xff;
    writeFileSync(path, flipped);
    const { code } = await runCommand(["inspect", path, "--no-load"]);
    expect([0, 1]).toContain(code);
  }
});

test("inspect of a server's address says what shows its models", async () => {
  expect(await runCommand(["inspect", "localhost:9001"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("kserving client http://localhost:9001 --json shows"),
  });
});
