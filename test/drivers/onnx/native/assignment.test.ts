import { describe, expect, it } from "vitest";
import { loadSession } from "../../../../src/drivers/onnx/native/load-session.ts";
import { openOnnx } from "../../../../src/drivers/onnx/native/open-onnx.ts";
import { RECORD_ASSIGNMENT, readAssignment, requireGpu } from "../../../../src/drivers/onnx/native/providers.ts";
import { importOnnxRuntime } from "../../../../src/drivers/onnx/onnx-runtime.ts";
import { findOnnx, libraryOf } from "../../../../src/storage/runtimes/onnx.ts";
import { missingRuntime } from "../../missing-runtime.ts";

const missing = await missingRuntime("What runs a model's operators", importOnnxRuntime);

describe.skipIf(missing !== undefined)("readAssignment", () => {
  it("tells which provider runs which operators", () => {
    const context = openOnnx(libraryOf(findOnnx()[0]!.path), 4);
    const options = { providers: [], extra: RECORD_ASSIGNMENT };
    const session = loadSession(context, "test/fixtures/models/half-plus-two.onnx", options);
    expect(readAssignment(context, session)).toEqual(new Map([["CPUExecutionProvider", ["Mul", "Add"]]]));
    context.api.ReleaseSession(session);
  });
});

describe("requireGpu", () => {
  it("counts the operators on the GPU and names those on the CPU", () => {
    const assignment = new Map([
      ["CPUExecutionProvider", ["Shape", "Gather", "Shape"]],
      ["CUDAExecutionProvider", ["Conv", "Relu"]],
    ]);
    expect(requireGpu(assignment, { name: "cuda" })).toEqual({ gpu: 2, cpu: 3, cpuOperators: ["Gather", "Shape"] });
  });

  it("refuses a model of which nothing runs there, and takes one without operators", () => {
    const assignment = new Map([["CPUExecutionProvider", ["StringConcat"]]]);
    const message =
      "None of the model's operators runs on the GPU by CUDA: ONNX Runtime gives StringConcat to others. Leave -o runtime_backend out.";
    const refused = expect.objectContaining({ code: "failed_precondition", message });
    expect(() => requireGpu(assignment, { name: "cuda" })).toThrow(refused);
    expect(() => requireGpu(new Map([["CUDAExecutionProvider", ["Conv"]]]), { name: "tensorrt" })).toThrow("TENSORRT");
    expect(requireGpu(new Map(), { name: "cuda" })).toMatchObject({ gpu: 0, cpu: 0 });
  });
});
