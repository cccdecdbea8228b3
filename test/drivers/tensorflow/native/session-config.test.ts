import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { parseOptions, type RawOptions } from "../../../../src/drivers/option-table.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "../../../../src/drivers/tensorflow/engine.ts";
import { createSessionConfig, encodeSessionConfig } from "../../../../src/drivers/tensorflow/native/native-engine.ts";
import { messageSchema } from "../../../../src/drivers/tensorflow/saved-model/tensorflow-messages.ts";

/** The ConfigProto of some options, as TensorFlow reads it. */
function configOf(options: RawOptions): unknown {
  const config = createSessionConfig(parseOptions<TensorflowOptions>(TENSORFLOW_OPTIONS, options));
  return fromBinary(messageSchema("ConfigProto"), encodeSessionConfig(config));
}

describe("a session's configuration", () => {
  it("has what the options say, and lets devices be chosen for operators that name one that is not there", () => {
    expect(configOf({ intra_op_threads: "3", inter_op_threads: "2", gpu_memory_fraction: "0.5" })).toMatchObject({
      allowSoftPlacement: true,
      intraOpParallelismThreads: 3,
      interOpParallelismThreads: 2,
      gpuOptions: { perProcessGpuMemoryFraction: 0.5 },
    });
    expect(configOf({ allow_soft_placement: "false" })).toMatchObject({ allowSoftPlacement: false });
  });

  it("compiles with XLA where it is asked to", () => {
    expect(configOf({ xla: "true" })).toMatchObject({
      graphOptions: { optimizerOptions: { globalJitLevel: 1, cpuGlobalJit: true } },
    });
  });

  it("fuses no layers where that would end the process, unless an option says so", () => {
    const options = (raw: RawOptions) => parseOptions<TensorflowOptions>(TENSORFLOW_OPTIONS, raw);
    const remapping = (raw: RawOptions) =>
      (
        createSessionConfig(options(raw), false) as unknown as {
          graphOptions: { rewriteOptions: { remapping: number } };
        }
      ).graphOptions.rewriteOptions.remapping;
    expect(remapping({ xla: "true" })).toBe(2);
    expect(remapping({ session_config: "graph_options { rewrite_options { remapping: ON } }" })).toBe(1);
  });

  it.each([
    ["JSON", '{"log_device_placement": true, "gpu_options": {"force_gpu_compatible": true}}'],
    ["protobuf's text format", "log_device_placement: true\ngpu_options { force_gpu_compatible: true }"],
  ])("takes TensorFlow's ConfigProto as %s, beside the options", (_what, text) => {
    expect(configOf({ session_config: text, gpu_memory_fraction: "0.5" })).toMatchObject({
      logDevicePlacement: true,
      allowSoftPlacement: true,
      gpuOptions: { forceGpuCompatible: true, perProcessGpuMemoryFraction: 0.5 },
    });
  });

  it("takes the short JSON of Simple TensorFlow Serving, with GPU options among the others", () => {
    const text = '{"allow_growth": true, "per_process_gpu_memory_fraction": 0.25, "allow_soft_placement": false}';
    expect(configOf({ session_config: text })).toMatchObject({
      allowSoftPlacement: false,
      gpuOptions: { allowGrowth: true, perProcessGpuMemoryFraction: 0.25 },
    });
  });

  it.each([
    ["a misspelt field in JSON", '{"log_device_placment": true}', 'key "log_device_placment" is unknown'],
    ["a misspelt field in text", "log_device_placment: true", 'unknown field "log_device_placment"'],
    ["a value of another type", '{"log_device_placement": "yes"}', "log_device_placement"],
    ["JSON that is cut short", '{"log_device_placement": true', "JSON"],
    ["what is neither", "yes please", `unknown field "yes"`],
  ])("refuses %s", (_what, text, message) => {
    expect(() => configOf({ session_config: text })).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringMatching(/^Option "session_config" is not TensorFlow's ConfigProto: /),
      }),
    );
    expect(() => configOf({ session_config: text })).toThrow(message);
  });
});
