import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { CUDA_OPTIONS, wantedProviders } from "../../../../src/drivers/onnx/native/providers.ts";
import { ONNX_OPTIONS, type OnnxOptions } from "../../../../src/drivers/onnx/session-options.ts";
import { parseOptions, type RawOptions } from "../../../../src/drivers/option-table.ts";

const wanted = (raw: RawOptions) => wantedProviders(parseOptions<OnnxOptions>(ONNX_OPTIONS, raw));

it("docs/drivers/onnx.md has CUDA's options", async () => {
  const doc = await readFile("docs/drivers/onnx.md", "utf8");
  for (const name of Object.keys(CUDA_OPTIONS)) expect(doc).toContain(`\`${name}\``);
});

describe("the providers that a session is to have", () => {
  it("are none for the CPU", () => {
    expect(wanted({})).toEqual([]);
  });

  it("are CUDA with the options by ONNX Runtime's names, in its words", () => {
    const options = { device_id: "1", "ep.use_tf32": "off", "ep.gpu_mem_limit": "4000" };
    const cuda = { name: "cuda", options: { device_id: "1", use_tf32: "0", gpu_mem_limit: "4000" } };
    expect(wanted({ runtime_backend: "CUDA", ...options })).toEqual([cuda]);
    expect(wanted({ runtime_backend: "GPU", ...options })).toEqual([cuda]);
  });

  it("are TensorRT with CUDA behind it", () => {
    const raw = { runtime_backend: "TENSORRT", "ep.trt_fp16_enable": "1" };
    expect(wanted(raw)).toEqual([
      { name: "tensorrt", options: { device_id: "0", trt_fp16_enable: "1" } },
      { name: "cuda", options: { device_id: "0" } },
    ]);
  });

  it.each([
    [{ "ep.use_tf32": "1" }, 'Option "ep.use_tf32" is unknown: CPU takes no ep options.'],
    [{ runtime_backend: "CUDA", "ep.gpu_mem_limt": "1" }, 'Did you mean "gpu_mem_limit"?'],
    [{ runtime_backend: "CUDA", "ep.gpu_mem_limit": "1GB" }, 'Option "gpu_mem_limit" is "1GB"; expected an integer'],
    [
      { runtime_backend: "CUDA", "ep.user_compute_stream": "1" },
      'Option "ep.user_compute_stream" is unknown: CUDA takes',
    ],
    [{ runtime_backend: "TENSORRT", "ep.use_tf32": "1" }, 'Option "ep.use_tf32" is unknown: TENSORRT takes ep.trt_'],
    [{ runtime_backend: "WEBGPU" }, "The engine native runs models on CPU, CUDA and TENSORRT, not WEBGPU"],
  ])("are refused for %j", (raw, message) => {
    expect(() => wanted(raw as RawOptions)).toThrow(message);
  });
});
