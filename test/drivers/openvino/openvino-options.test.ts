import { cpSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import type { ErrorCode } from "../../../src/errors.ts";
import { DEFAULT_SIGNATURE } from "../../../src/tensor/signature/signature.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { expectTensors } from "../expect-tensors.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { floats, loadModel, openModel } from "./open-model.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("The openvino driver's options", openvinoRuntime);

/** Shapes of the inputs by name. */
function shapesOf({ signatures }: Model): Record<string, unknown> {
  const { inputs = [] } = signatures[DEFAULT_SIGNATURE] ?? {};
  return Object.fromEntries(inputs.map(({ name, shape }) => [name, shape]));
}

/** A setting that the device has chosen. */
function propertyOf(model: Model, key: string): Promise<string> {
  const { exec_net } = model.hookArgs as { exec_net: { get_property(key: string): Promise<string> } };
  return exec_net.get_property(key);
}

/** The folder of a copy of a model, with a file beside it. */
function copyWith(name: string, file: string, text: string): string {
  const folder = tempFolder({ [file]: text });
  cpSync(openvinoModel(name).replace("/model.xml", ""), folder, { recursive: true });
  return folder;
}

describe.skipIf(missing !== undefined)("the openvino driver's option", () => {
  it.each([["CPU"], ["cpu"], ["AUTO"], ["AUTO:CPU"], ["MULTI:CPU"], ["HETERO:CPU"]])(
    "device takes %s",
    async (device) => {
      const model = await loadModel("dense", { device });
      expect((await predict(model, { x: floats([1, 3]) })).y?.shape).toEqual([1, 2]);
    },
  );

  it("device takes BATCH for a model of one row", async () => {
    const model = await loadModel("dense", { device: "BATCH:CPU(4)", batch_size: "1" });
    expect((await predict(model, { x: floats([1, 3]) })).y?.shape).toEqual([1, 2]);
  });

  it("shape gives inputs sizes, ranges and any size", async () => {
    const model = await loadModel("fixed", { shape: "(1:4, 3, -1, 8)" });
    expect(shapesOf(model)).toEqual({ x: [{ min: 1, max: 4 }, 3, -1, 8] });
    expect((await predict(model, { x: floats([2, 3, 5, 8]) })).y?.shape).toEqual([2, 2, 5, 8]);
  });

  it("shape names inputs, by any of their names", async () => {
    const model = await loadModel("add_multiply", { shape: '{"x_alias": "(2,4)", "y": [2, 4]}' });
    expect(shapesOf(model)).toEqual({ x: [2, 4], y: [2, 4] });
  });

  it("shape gives a rank to an input without one", async () => {
    const model = await loadModel("any_rank", { shape: "(2,-1)" });
    expect((await predict(model, { x: floats([2, 2], -1, 1, 2, -3) })).y).toEqual(floats([2, 2], 0, 1, 2, 0));
  });

  it("shape=auto compiles the model for each shape, and refuses one that it cannot have", async () => {
    const model = await loadModel("fixed", { shape: "auto" });
    expect(shapesOf(model)).toEqual({ x: [-1, -1, -1, -1] });
    // More shapes than are kept, and the first one again.
    for (const size of [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 4]) {
      expect((await predict(model, { x: floats([1, 3, size, 4]) })).y?.shape).toEqual([1, 2, size, 4]);
    }
    await expect(predict(model, { x: floats([1, 5, 4, 4]) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The model failed: .*The inputs were x float32\[1,5,4,4\]/),
    });
    expect((await predict(model, { x: floats([1, 3, 4, 4]) })).y?.shape).toEqual([1, 2, 4, 4]);
  });

  it.each(["NHWC:NCHW", '{"x": "nhwc:nchw"}'])("layout=%s takes the axes in the clients' order", async (layout) => {
    const [plain, model] = [await loadModel("fixed"), await loadModel("fixed", { layout })];
    expect(shapesOf(model)).toEqual({ x: [1, 4, 4, 3] });
    const image = Array.from({ length: 48 }, (_, index) => Math.sin(index));
    const channels = [0, 1, 2].flatMap((channel) => image.filter((_, index) => index % 3 === channel));
    const expected = await predict(plain, { x: floats([1, 3, 4, 4], ...channels) });
    expectTensors(await predict(model, { x: floats([1, 4, 4, 3], ...image) }), { ...expected }, 1e-6);
  });

  it("layout goes with shape, which is then the clients', and changes nothing where it is one alone", async () => {
    const model = await loadModel("fixed", { layout: "NHWC:NCHW", shape: "(1:2,-1,8,3)" });
    expect(shapesOf(model)).toEqual({ x: [{ min: 1, max: 2 }, -1, 8, 3] });
    expect((await predict(model, { x: floats([2, 5, 8, 3]) })).y?.shape).toEqual([2, 2, 5, 8]);
    expect(shapesOf(await loadModel("fixed", { layout: "NCHW" }))).toEqual({ x: [1, 3, 4, 4] });
  });

  it.each([
    ["8", 8],
    ["1:8", { min: 1, max: 8 }],
    ["auto", -1],
  ])("batch_size=%s changes the first dimension", async (batch_size, first) => {
    expect(shapesOf(await loadModel("fixed", { batch_size }))).toEqual({ x: [first, 3, 4, 4] });
  });

  it("inputs and outputs choose names, and outputs what is served", async () => {
    const model = await loadModel("add_multiply", { inputs: "y, x_alias", outputs: "product" });
    const [x, y] = [floats([1, 4], 1, 2, 3, 4), floats([1, 4], 2, 2, 2, 2)];
    expect(await predict(model, { x_alias: x, y })).toEqual({ product: floats([1, 4], 2, 4, 6, 8) });
  });

  it("inference_precision is f32, cpu_pinning off, unless they say otherwise", async () => {
    const [plain, other] = [
      await loadModel("dense"),
      await loadModel("dense", { cpu_pinning: "true", cache_dir: tempFolder() }),
    ];
    expect(await propertyOf(plain, "INFERENCE_PRECISION_HINT")).toBe("f32");
    expect(await propertyOf(plain, "ENABLE_CPU_PINNING")).toBe("NO");
    expect(await propertyOf(other, "ENABLE_CPU_PINNING")).toBe("YES");
  });

  it("plugin_config sets properties, for all devices or one", async () => {
    const flat = await loadModel("dense", {
      plugin_config: '{"PERF_COUNT": true, "NUM_STREAMS": 2}',
      inference_threads: "2",
    });
    const nested = await loadModel("dense", { plugin_config: '{"CPU": {"PERF_COUNT": "YES"}}' });
    expect(await propertyOf(flat, "NUM_STREAMS")).toBe("2");
    expect([await propertyOf(flat, "PERF_COUNT"), await propertyOf(nested, "PERF_COUNT")]).toEqual(["YES", "YES"]);
  });

  it.each([
    ['{"CPU_THROUGHPUT_STREAMS": "2", "CPU_THREADS_NUM": "2"}', { NUM_STREAMS: "2", INFERENCE_NUM_THREADS: "2" }],
    [
      '{"CPU": {"KEY_CPU_THROUGHPUT_STREAMS": 1, "CPU_BIND_THREAD": "NUMA"}}',
      { NUM_STREAMS: "1", ENABLE_CPU_PINNING: "YES" },
    ],
    ['{"CPU_THROUGHPUT_STREAMS": "CPU_THROUGHPUT_AUTO", "ENFORCE_BF16": "NO"}', { INFERENCE_PRECISION_HINT: "f32" }],
  ])("plugin_config takes the names of releases before 2022: %s", async (plugin_config, expected) => {
    const model = await loadModel("dense", { plugin_config });
    for (const [key, value] of Object.entries(expected)) expect(await propertyOf(model, key)).toBe(value);
  });

  it("model_weights names the weights", async () => {
    const folder = tempFolder();
    cpSync(openvinoModel("dense"), `${folder}/moved.xml`);
    const weights = openvinoModel("dense").replace(".xml", ".bin");
    const model = await loadModel(`${folder}/moved.xml`, { model_weights: weights });
    expect((await predict(model, { x: floats([1, 3]) })).y?.shape).toEqual([1, 2]);
  });

  it.each<[Record<string, string>, ErrorCode, string | RegExp]>([
    [
      { device: "MYRIAD" },
      "failed_precondition",
      /^The device MYRIAD is gone from OpenVINO since .*; this machine has .*CPU/,
    ],
    [{ device: "HETERO:FPGA,CPU" }, "failed_precondition", /^The device FPGA is gone/],
    [{ device: "HDDL" }, "failed_precondition", /^The device HDDL is gone/],
    [{ device: "TPU" }, "failed_precondition", /^The device TPU is not there; this machine has/],
    [{ device: "HETRO:CPU" }, "invalid_argument", /Did you mean "HETERO"\?/],
    [{ device: "CPU,," }, "invalid_argument", /^Option "device" is "CPU,,"; expected a device/],
    [
      { num_streams: "many" },
      "invalid_argument",
      /^Option "num_streams" sets NUM_STREAMS to "many", which the CPU plugin refuses: /,
    ],
    [
      { plugin_config: '{"NUM_STREEMS": 1}' },
      "invalid_argument",
      /^Option "plugin_config" .* Did you mean "NUM_STREAMS"/,
    ],
    [{ plugin_config: "[1]" }, "invalid_argument", /^Option "plugin_config" cannot be read: it is not an object/],
    [{ plugin_config: "{" }, "invalid_argument", /it is not JSON/],
    [{ plugin_config: '{"A": {"B": {}}}' }, "invalid_argument", /B is \{\}/],
    [{ shape: "(1,b)" }, "invalid_argument", /^Option "shape" has "\(1,b\)"; expected/],
    [{ shape: "(4:1,3)" }, "invalid_argument", /^Option "shape" has/],
    [{ shape: '{"z": "(1,3)"}' }, "invalid_argument", /names "z", which is not an input of the model\..* It has x/],
    [{ shape: "{x}" }, "invalid_argument", /expected JSON/],
    [{ shape: "(1,5)" }, "invalid_argument", /^Option "shape" is "\(1,5\)", which the model cannot take: .*MatMul/],
    [{ layout: "NHWC:NCHW" }, "invalid_argument", /^Option "layout" is "NHWC:NCHW", which the model cannot take: /],
    [
      { layout: "NC:NH" },
      "invalid_argument",
      'Option "layout" has "NC:NH"; expected the same axes twice, such as NHWC:NCHW.',
    ],
    [
      { layout: '{"z": "CN:NC"}' },
      "invalid_argument",
      /^Option "layout" names "z", which is not an input of the model/,
    ],
    [{ batch_size: "0" }, "invalid_argument", /^Option "batch_size" is "0"/],
    [
      { inputs: "z" },
      "failed_precondition",
      /^Option "inputs" names "z", but the model has no such input\..* It has x/,
    ],
    [{ outputs: "yy" }, "failed_precondition", /no such output\. Did you mean "y"/],
    [{ extension: "none.so" }, "failed_precondition", /"none.so", which does not exist/],
    [{ extension: "package.json" }, "failed_precondition", /^The extension "package.json" does not load into OpenVINO/],
  ])("%j is refused", async (options, code, message) => {
    await expect(openModel("dense", options)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each([{ shape: "(1,4)" }, { layout: "NC:CN" }])(
    "%j has to name inputs where there are several",
    async (options) => {
      await expect(openModel("add_multiply", options)).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("several inputs (x, y)"),
      });
    },
  );

  it("batch_size needs inputs with a first dimension", async () => {
    await expect(openModel("scalar", { batch_size: "2" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("inputs has to name all of them", async () => {
    await expect(openModel("add_multiply", { inputs: "x" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: 'Option "inputs" leaves out "y"; the model needs all of its inputs.',
    });
  });
});

describe.skipIf(missing !== undefined)("a mapping_config.json next to the model", () => {
  it("gives inputs and outputs other names", async () => {
    const mapping = JSON.stringify({ inputs: { x: "pixels" }, outputs: { y: "scores" } });
    const model = await loadModel(copyWith("dense", "mapping_config.json", mapping));
    expect((await predict(model, { pixels: floats([1, 3]) })).scores?.shape).toEqual([1, 2]);
  });

  it.each<[RawOptions, unknown]>([
    [{ shape: '{"image": "(2,3,8,8)"}' }, [2, 3, 8, 8]],
    [{ shape: '{"x": "(2,3,8,8)"}' }, [2, 3, 8, 8]],
    [{ shape: '{"image": "auto"}' }, [-1, -1, -1, -1]],
    [{ shape: "(2,3,8,8)" }, [2, 3, 8, 8]],
    [{ batch_size: "2" }, [2, 3, 4, 4]],
    [{ layout: '{"image": "NHWC:NCHW"}' }, [1, 4, 4, 3]],
    [{ layout: '{"x": "NHWC:NCHW", "scores": "NCHW"}' }, [1, 4, 4, 3]],
    [{ layout: '{"image": "NHWC:NCHW"}', shape: '{"image": "(1,8,8,3)"}' }, [1, 8, 8, 3]],
  ])("names its inputs for the options %j", async (options, shape) => {
    const mapping = JSON.stringify({ inputs: { x: "image" }, outputs: { y: "scores" } });
    const model = await loadModel(copyWith("fixed", "mapping_config.json", mapping), options);
    expect(shapesOf(model)).toEqual({ image: shape });
  });

  it("may give one input's name to another", async () => {
    const mapping = JSON.stringify({ inputs: { x: "y", y: "x" } });
    const model = await loadModel(copyWith("add_multiply", "mapping_config.json", mapping), {
      shape: '{"x": "(1,4)", "y": "(1,1)"}',
    });
    expect(shapesOf(model)).toEqual({ y: [1, 1], x: [1, 4] });
  });

  it("changes no output's layout", async () => {
    await expect(openModel("fixed", { layout: '{"y": "NHWC:NCHW"}' })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Option "layout" has "NHWC:NCHW" for the output "y"; only inputs are transposed/),
    });
  });

  it.each([
    ["{", /mapping_config.json" is not JSON/],
    ['{"inputs": ["x"]}', /is not a mapping; expected/],
    ['{"inputs": {"z": "a"}}', /mapping_config.json names "z", but the model has no such input/],
  ])("is refused when it is %s", async (text, message) => {
    await expect(openModel(copyWith("dense", "mapping_config.json", text))).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });
});
