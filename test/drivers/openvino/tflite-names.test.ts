import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connect } from "../../grpc/byte-client.ts";
import { oracle } from "../../grpc/oracle.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { formatModel } from "../tensorflow/format-models.ts";
import { floats, loadModel } from "./open-model.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("Names of .tflite models in OpenVINO", openvinoRuntime);

const TWO_INPUTS = formatModel("lite_two_inputs/model.tflite");
const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const row = floats([1, 3], 1, 2, 3);

describe.skipIf(missing !== undefined)("a .tflite model has for clients, as with the tensorflow driver,", () => {
  it.each([
    ["the names of its signature", "lite_two_inputs"],
    ["those of the signatures in its metadata", "lite_signature_defs"],
  ])("%s", async (_, name) => {
    const model = await loadModel(formatModel(`${name}/model.tflite`));
    const { inputs, outputs } = model.signatures.serving_default!;
    const namesOf = (specs = inputs) => specs?.map((spec) => spec.name).sort();
    expect([namesOf(), namesOf(outputs)]).toEqual([
      ["a", "b"],
      ["product", "sum"],
    ]);
    expect(await predict(model, { a: row, b: row }, { outputs: ["product"] })).toEqual({
      product: floats([1, 3], 1, 4, 9),
    });
  });

  it("other names where options choose them, which may be the graph's", async () => {
    const model = await loadModel(TWO_INPUTS, {
      inputs: "serving_default_b:0,a",
      outputs: "sum",
      shape: '{"a": "(1,3)", "serving_default_b:0": "(1,3)"}',
    });
    expect(await predict(model, { a: row, "serving_default_b:0": row })).toEqual({ sum: floats([1, 3], 2, 4, 6) });
  });

  it("those of a mapping_config.json, which may be for either", async () => {
    const folder = tempFolder();
    const path = join(folder, "model.tflite");
    copyFileSync(TWO_INPUTS, path);
    const mapping = { inputs: { a: "left", "serving_default_b:0": "right" }, outputs: { sum: "both" } };
    writeFileSync(join(folder, "mapping_config.json"), JSON.stringify(mapping));
    const model = await loadModel(path);
    expect((await predict(model, { left: row, right: row })).both).toEqual(floats([1, 3], 2, 4, 6));
  });
});

/** The names that OpenVINO has, for which OpenVINO Model Server's clients ask. */
const [A, B] = ["serving_default_a:0", "serving_default_b:0"];
const [SUM, PRODUCT] = ["PartitionedCall:1", "PartitionedCall:0"];
const values = [[1, 2, 3]];
const answers = { product: [[1, 4, 9]], sum: [[2, 4, 6]] };

describe.skipIf(missing !== undefined)("a .tflite model takes OpenVINO's names too,", () => {
  const start = (listeners?: number) =>
    startServer({ ...(listeners && { listeners }), stages: [{ driver: "openvino", path: TWO_INPUTS }] });
  const post = async (url: string, body: object): Promise<unknown> =>
    (await fetch(url, { method: "POST", body: JSON.stringify(body) })).json();

  it.each([undefined, 1])("by TensorFlow Serving's and Kibernetika's REST (listeners: %s)", async (listeners) => {
    const { httpUrl } = await start(listeners);
    const v1 = `${httpUrl}/v1/models/default:predict`;
    const native = { [SUM]: answers.sum, [PRODUCT]: answers.product };
    const [instances, inputs] = [[{ [A]: values[0], [B]: values[0] }], { [A]: values, [B]: values }];
    expect(await post(v1, { inputs })).toEqual({ outputs: native });
    expect(await post(v1, { instances })).toEqual({ predictions: [{ [SUM]: [2, 4, 6], [PRODUCT]: [1, 4, 9] }] });
    expect(await post(v1, { inputs: { a: values, b: values } })).toEqual({ outputs: answers });
    expect(await post(v1, { inputs: { a: values, [B]: values }, output_filter: ["sum", PRODUCT] })).toEqual({
      outputs: { sum: answers.sum, [PRODUCT]: answers.product },
    });
    expect(await post(v1, { inputs: { [A]: values, c: values } })).toEqual({
      error: "Missing named input: b in 'inputs' object.",
    });
    const tensor = { dtype: 1, shape: [1, 3], data: values };
    expect(await post(`${httpUrl}/predict/default`, { inputs: { [A]: tensor, [B]: tensor } })).toMatchObject(native);
  });

  it("by KServe V2's REST and gRPC, and TensorFlow Serving's gRPC", async () => {
    const server = await start();
    const input = (name: string) => ({ name, datatype: "FP32", shape: [1, 3], data: [1, 2, 3] });
    const infer = (...names: string[]) => ({ inputs: names.map(input), outputs: [{ name: SUM }, { name: "product" }] });
    const v2 = `${server.httpUrl}/v2/models/default/infer`;
    expect(await post(v2, infer(A, "b"))).toMatchObject({
      outputs: [
        { name: SUM, data: [2, 4, 6] },
        { name: "product", data: [1, 4, 9] },
      ],
    });
    expect(await post(v2, { inputs: [A, "c"].map(input) })).toMatchObject({
      error: expect.stringContaining("unexpected inference input 'c'"),
    });
    const x = { dtype: "DT_FLOAT", tensor_shape: { dim: [{ size: 1 }, { size: 3 }] }, float_val: [1, 2, 3] };
    const request = oracle.encodeRequest({ model_spec: { name: "default" }, inputs: { [A]: x, [B]: x } });
    const { bytes } = await connect(server.grpcAddress as string).call(PREDICT, request);
    expect(Object.keys(oracle.decodeResponse(bytes).outputs as object).sort()).toEqual([PRODUCT, SUM]);
    expect(await server.predict("default", { [A]: values, [B]: values })).toMatchObject({ [SUM]: { shape: [1, 3] } });
  });
});
