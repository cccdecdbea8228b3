import { describe, expect, it } from "vitest";
import { describeDriver } from "../../driver-contract.ts";
import { expectTensors } from "../../expect-tensors.ts";
import { predict } from "../../predict.ts";
import { floats, loadModel, openModel } from "../open-model.ts";
import { OPENVINO_MODELS, openvinoModel, readRuns } from "../openvino-cases.ts";

/** The folder of an openvino-node whose addon is there. */
const folder = process.env.KSERVING_TEST_OPENVINO_NODE;
const options = { engine: "node", openvino_lib: folder ?? "" };
/** Models with inputs or outputs that the addon has no tensors of. */
const NOT_CARRIED = /^(type_(bf16|f16|boolean)|strings)$/;

if (folder === undefined)
  process.stderr.write("openvino-node is not tested: KSERVING_TEST_OPENVINO_NODE names no folder of it.\n");
else await describeContract();

async function describeContract(): Promise<void> {
  const samples = readRuns("add_multiply").map(({ inputs, outputs }) => ({ inputs, expected: outputs }));
  await describeDriver({
    name: "openvino",
    modelPath: openvinoModel("add_multiply"),
    options,
    samples: samples as never,
  });
}

describe.skipIf(folder === undefined)("openvino-node gives what Python OpenVINO gives", () => {
  it.each(OPENVINO_MODELS.filter((name) => !NOT_CARRIED.test(name)))("for %s", async (name) => {
    const model = await loadModel(name, options);
    for (const { inputs, outputs } of readRuns(name)) expectTensors(await predict(model, inputs), outputs, 1e-5);
  });
});

describe.skipIf(folder === undefined)("openvino-node", () => {
  it.each(OPENVINO_MODELS.filter((name) => NOT_CARRIED.test(name)))(
    "refuses %s, of whose type it has no tensors",
    async (name) => {
      await expect(openModel(name, options)).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringMatching(
          /^(In|Out)put "\w+" is of element type \w+, which openvino-node does not carry; use -o engine=native\.$/,
        ),
      });
    },
  );

  it("reshapes models, once and for each shape that comes", async () => {
    const fixed = await loadModel("fixed", { ...options, shape: "(1:4, 3, -1, 8)" });
    expect((await predict(fixed, { x: floats([2, 3, 5, 8]) })).y?.shape).toEqual([2, 2, 5, 8]);
    const auto = await loadModel("fixed", { ...options, shape: "auto" });
    for (const size of [4, 5, 4])
      expect((await predict(auto, { x: floats([1, 3, size, 4]) })).y?.shape).toEqual([1, 2, size, 4]);
    await expect(openModel("dense", { ...options, shape: "(1,5)" })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Option "shape" is "\(1,5\)", which the model cannot take: .*MatMul/),
    });
  });

  it("gives a rank to an input without one", async () => {
    const model = await loadModel("any_rank", { ...options, shape: "(2,-1)" });
    expect((await predict(model, { x: floats([2, 2], -1, 1, 2, -3) })).y).toEqual(floats([2, 2], 0, 1, 2, 0));
  });

  it("sets properties, and refuses others by the option's name", async () => {
    const { hookArgs } = await loadModel("dense", {
      ...options,
      cpu_pinning: "true",
      plugin_config: '{"PERF_COUNT": true}',
    });
    const { exec_net } = hookArgs as { exec_net: { get_property(key: string): Promise<string> } };
    const keys = ["INFERENCE_PRECISION_HINT", "ENABLE_CPU_PINNING", "PERF_COUNT"];
    expect(await Promise.all(keys.map((key) => exec_net.get_property(key)))).toEqual(["f32", "YES", "YES"]);
    await expect(openModel("dense", { ...options, num_streams: "many" })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(
        /^Option "num_streams" sets NUM_STREAMS to "many", which the CPU plugin refuses: /,
      ),
    });
  });

  it("reports an input of another size", async () => {
    const model = await loadModel("dense", options);
    await expect(predict(model, { x: floats([2, 4]) })).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await predict(model, { x: floats([1, 3]) })).y?.shape).toEqual([1, 2]);
  });

  it("takes inputs in memory that threads share, and in parts of buffers", async () => {
    const model = await loadModel("dense", options);
    const expected = await predict(model, { x: floats([1, 3], 1, 2, 3) });
    const shared = new Float32Array(new SharedArrayBuffer(12));
    const part = new Float32Array(new ArrayBuffer(32), 8, 3);
    for (const data of [shared, part]) {
      data.set([1, 2, 3]);
      expect(await predict(model, { x: { ...floats([1, 3]), data: data as Float32Array<ArrayBuffer> } })).toEqual(
        expected,
      );
    }
  });

  it("restarts a stateful model with each run where the option is set", async () => {
    const model = await loadModel("accumulate", { ...options, state: "reset" });
    const x = floats([1, 2], 1, 0);
    expect([await predict(model, { x }), await predict(model, { x })].map(({ total }) => total?.data[0])).toEqual([
      1, 1,
    ]);
  });

  it("lets go of a run whose deadline passes, and serves the next", async () => {
    const model = await loadModel("chain", options);
    const late = predict(model, { x: floats([200, 200]) }, { signal: AbortSignal.timeout(1) });
    await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect((await predict(model, { x: floats([1, 1], 1) })).y).toEqual(floats([1, 1], 1));
  });

  it("says why it cannot load a model", async () => {
    await expect(openModel("test/fixtures/models/truncated.onnx", options)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^OpenVINO [\d.]+ cannot load .*Model can't be parsed/),
    });
  });
});
