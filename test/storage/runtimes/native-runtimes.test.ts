import { describe, expect, test } from "vitest";
import { findRuntime } from "../../../src/storage/runtimes/native-runtimes.ts";
import type { HostPlatform } from "../../../src/storage/runtimes/wheels.ts";

const LINUX: HostPlatform = { os: "linux", arch: "x64", glibcMinor: 36, kernelMajor: 6 };

describe("findRuntime", () => {
  test.each([
    [
      "tensorflw",
      'There is no runtime "tensorflw". Did you mean "tensorflow"? Expected onnx, tensorflow, openvino, onnx-cuda or pytorch.',
    ],
  ])("says of %s what to do", (name, message) => {
    expect(() => findRuntime(name)).toThrow(message);
  });
});

test.each([
  ["tensorflow", LINUX, "tensorflow-cpu"],
  ["tensorflow", { ...LINUX, arch: "arm64" }, "tensorflow"],
  ["tensorflow", { os: "darwin", arch: "arm64", kernelMajor: 23 }, "tensorflow"],
  ["tensorflow", { os: "darwin", arch: "x64", kernelMajor: 23 }, undefined],
  ["tensorflow", { os: "win32", arch: "x64", kernelMajor: 10 }, undefined],
  ["openvino", LINUX, "openvino"],
  ["openvino", { os: "win32", arch: "x64", kernelMajor: 10 }, "openvino"],
  ["openvino", { os: "darwin", arch: "x64", kernelMajor: 23 }, undefined],
  ["onnx-cuda", LINUX, "onnxruntime-gpu"],
  ["onnx-cuda", { ...LINUX, arch: "arm64" }, "onnxruntime-gpu"],
  ["onnx-cuda", { os: "win32", arch: "x64", kernelMajor: 10 }, "onnxruntime-gpu"],
  ["onnx-cuda", { os: "win32", arch: "arm64", kernelMajor: 10 }, undefined],
  ["onnx-cuda", { os: "darwin", arch: "arm64", kernelMajor: 23 }, undefined],
] as const)("%s for %j is in the wheel %s", (name, host, project) => {
  expect(findRuntime(name).wheelProject(host)).toBe(project);
});

// Names as they stand in the wheels of TensorFlow 2.21, OpenVINO 2026.4 and ONNX Runtime 1.30.
test.each([
  ["tensorflow", "tensorflow/libtensorflow_cc.so.2", true],
  ["tensorflow", "tensorflow/libtensorflow_framework.2.dylib", true],
  ["tensorflow", "org/tensorflow/internal/c_api/linux-x86_64/libtensorflow_cc.so.2", true],
  ["tensorflow", "tensorflow/compiler/mlir/stablehlo/stablehlo_extension.so", false],
  ["tensorflow", "tensorflow/include/tensorflow/c/c_api.h", false],
  ["openvino", "openvino/libs/libopenvino_c.so.2641", true],
  ["openvino", "openvino/libs/libopenvino.2641.dylib", true],
  ["openvino", "openvino/libs/libopenvino_intel_cpu_plugin.so", true],
  ["openvino", "openvino/libs/libtbb.so.12", true],
  ["openvino", "openvino/libs/openvino_onnx_frontend.dll", true],
  ["openvino", "openvino/libs/cache.json", true],
  ["openvino", "openvino/libs/openvino_c.lib", false],
  ["openvino", "openvino/libs/libopenvino_pytorch_frontend.so.2641", false],
  ["openvino", "openvino/libs/libopenvino_intel_npu_plugin.so", false],
  ["openvino", "openvino/_pyopenvino.cpython-313-x86_64-linux-gnu.so", false],
  ["onnx-cuda", "onnxruntime/capi/libonnxruntime.so.1.30.0", true],
  ["onnx-cuda", "onnxruntime/capi/libonnxruntime_providers_shared.so", true],
  ["onnx-cuda", "onnxruntime/capi/libonnxruntime_providers_cuda.so", true],
  ["onnx-cuda", "onnxruntime/capi/libonnxruntime_providers_tensorrt.so", true],
  ["onnx-cuda", "onnxruntime/capi/onnxruntime_providers_cuda.dll", true],
  ["onnx-cuda", "onnxruntime/capi/onnxruntime.dll", true],
  ["onnx-cuda", "onnxruntime/capi/onnxruntime_pybind11_state.cpython-312-x86_64-linux-gnu.so", false],
  ["onnx-cuda", "onnxruntime/capi/_ld_preload.py", false],
])("%s keeps %s: %s", (name, path, expected) => {
  expect(findRuntime(name).keeps(path)).toBe(expected);
});
