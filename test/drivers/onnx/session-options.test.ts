import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import {
  findProvider,
  ONNX_OPTIONS,
  type OnnxOptions,
  toSessionOptions,
} from "../../../src/drivers/onnx/session-options.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { ServingError } from "../../../src/errors.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { loadOnnx, openOnnx } from "./load-onnx.ts";

function toOptions(raw: RawOptions) {
  return toSessionOptions(parseOptions<OnnxOptions>(ONNX_OPTIONS, raw));
}

function providerOf(raw: RawOptions, offered: readonly string[] = ["cpu"]) {
  return findProvider(offered, parseOptions<OnnxOptions>(ONNX_OPTIONS, raw));
}

describe("toSessionOptions", () => {
  it("leaves everything to ONNX Runtime when no option is given, but keeps it off standard error", () => {
    expect(toOptions({})).toEqual({
      intraOpNumThreads: 0,
      interOpNumThreads: 0,
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      logSeverityLevel: 4,
      extra: {},
    });
  });

  it("gives each option ONNX Runtime's own name", () => {
    const threads = { intra_op_threads: "2", inter_op_threads: "3", execution_mode: "parallel" };
    expect(toOptions({ ...threads, graph_optimization_level: "basic", ort_log_level: "warning" })).toMatchObject({
      intraOpNumThreads: 2,
      interOpNumThreads: 3,
      executionMode: "parallel",
      graphOptimizationLevel: "basic",
      logSeverityLevel: 2,
    });
  });

  it("passes session entries on, those of other families by their own names", () => {
    const raw = { "session.intra_op.allow_spinning": "0", "session.optimization.enable_gelu_approximation": "1" };
    expect(toOptions(raw).extra).toEqual({
      "session.intra_op.allow_spinning": "0",
      "optimization.enable_gelu_approximation": "1",
    });
  });

  it("refuses an unknown backend", () => {
    expect(() => toOptions({ runtime_backend: "GPUU" })).toThrow(/expected one of CPU, GPU, .* Did you mean "GPU"\?/);
  });
});

describe("findProvider", () => {
  it("takes the CPU, and runtime_backend in lower case", () => {
    expect(providerOf({})).toEqual({ name: "cpu" });
    const raw = { runtime_backend: "cuda", device_id: "1" };
    expect(providerOf(raw, ["cpu", "cuda"])).toEqual({ name: "cuda", deviceId: 1 });
  });

  it.each([
    [["cpu", "cuda", "tensorrt"], "cuda"],
    [["cpu", "webgpu", "dml"], "dml"],
    [["cpu", "coreml"], "coreml"],
  ])("takes GPU of %j for %s", (offered, name) => {
    expect(providerOf({ runtime_backend: "GPU" }, offered)).toMatchObject({ name });
  });

  it.each(["INTERPRETER", "ARGON", "NNP", "GPU", "CUDA"])("refuses %s where it is not offered", (backend) => {
    const message = `runtime_backend ${backend} is not in this build of ONNX Runtime, which offers CPU, WEBGPU.`;
    expect(() => providerOf({ runtime_backend: backend }, ["cpu", "webgpu"])).toThrow(
      expect.objectContaining({ code: "failed_precondition", message }),
    );
  });

  it("reads ep options by the provider's own table", () => {
    const raw = { runtime_backend: "webgpu", "ep.preferredLayout": "nhwc", "ep.enableRobustness": "on" };
    expect(providerOf(raw, ["webgpu"])).toEqual({
      name: "webgpu",
      preferredLayout: "NHWC",
      enableRobustness: true,
    });
  });

  it.each([
    [{ "ep.arena": "1" }, 'Option "ep.arena" is unknown: CPU takes no ep options.'],
    [{ runtime_backend: "webgpu", "ep.preferedLayout": "NHWC" }, 'Did you mean "preferredLayout"?'],
  ])("refuses %j, which the provider does not take", (raw, message) => {
    expect(() => providerOf(raw, ["cpu", "webgpu"])).toThrow(message);
  });
});

const missing = await missingRuntime("What the onnx driver's options do to models", importOnnxRuntime);

describe.skipIf(missing !== undefined)("a model of the onnx driver", () => {
  const x = createTensor("float32", [1], Float32Array.of(4));

  it.each(["disabled", "basic", "extended", "layout", "all"])(
    "runs with graph_optimization_level=%s",
    async (level) => {
      const model = await loadOnnx("half-plus-two.onnx", {
        graph_optimization_level: level,
        execution_mode: "parallel",
      });
      expect((await predict(model, { x })).y?.data).toEqual(Float32Array.of(4));
    },
  );

  it.each([
    ["session.load_model_format", "ORT", "ORT model verification failed"],
    ["session.optimization.minimal_build_optimizations", "zzz", "Invalid value for optimization.minimal_build"],
  ])("is loaded under the entry %s=%s", async (key, value, message) => {
    const expected = { code: "failed_precondition", message: expect.stringContaining(message) };
    await expect(openOnnx("half-plus-two.onnx", { [key]: value })).rejects.toMatchObject(expected);
  });

  it("runs on a GPU, or says what is missing for that", async () => {
    const outcome = await loadOnnx("half-plus-two.onnx", { runtime_backend: "gpu" }).catch((reason) => reason);
    if (outcome instanceof ServingError) {
      const message = expect.stringMatching(/GPU|NVIDIA|CUDA/);
      expect(outcome).toMatchObject({ code: "failed_precondition", message });
    } else {
      expect((await predict(outcome, { x })).y?.data).toEqual(Float32Array.of(4));
    }
  });

  it.each([
    [
      "unknown-op.onnx",
      /^ONNX Runtime cannot load "test\/fixtures\/models\/unknown-op\.onnx": .*No Op registered for Levitate/,
    ],
    ["future-opset.onnx", /"test\/fixtures\/models\/future-opset\.onnx": ONNX Runtime only .*Opset 999/],
    ["identity-complex64.onnx", /^Input "x" is complex64, which/],
    ["identity-complex128.onnx", /^Input "x" is complex128, which/],
  ])("does not load from %s, and the error says why", async (name, message) => {
    const expected = { code: "failed_precondition", message: expect.stringMatching(message) };
    await expect(openOnnx(name)).rejects.toMatchObject(expected);
  });

  it.each([
    ["identity-bfloat16.onnx", /^Input "x" is bfloat16, which is not carried/],
    ["proto-output.onnx", /^Output "__proto__" cannot be returned/],
    ["sequence-input.onnx", /^Input "rows" is a sequence, which/],
    ["sequence-output.onnx", /^Output "rows" is a sequence, which/],
    ["map-input.onnx", /^Input "counts" is a map, which/],
    ["map-output.onnx", /^Output "scores" is a sequence of maps, which .*options=\{"zipmap": False\}/],
    ["optional-input.onnx", /^Input "maybe" is an optional, which/],
  ])("is not loaded from %s by the JavaScript API, and is by the C API", async (name, message) => {
    const expected = { code: "failed_precondition", message: expect.stringMatching(message) };
    await expect(openOnnx(name, { engine: "node" })).rejects.toMatchObject(expected);
    await expect(loadOnnx(name)).resolves.toMatchObject({ isPure: true });
  });
});
