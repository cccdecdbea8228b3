import { expect, test } from "vitest";
import { needsOf } from "../../../src/cli/export/deployment-needs.ts";
import { readDeployment } from "../../../src/cli/export/read-deployment.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const SAVED = "test/fixtures/tensorflow";
const OTHER = "test/fixtures/tensorflow-formats";
const [NATIVE, NOTHING] = [{ runtimes: ["tensorflow"] }, { runtimes: [], packages: [] }];

test.each([
  ["a SavedModel that the portable engine serves", `${SAVED}/half_plus_two`, {}, NOTHING],
  ["one that it refuses", `${SAVED}/unknown_operation`, {}, NATIVE],
  ["one that has to be native", `${SAVED}/half_plus_two`, { engine: "native" }, NATIVE],
  ["one that must not be native", `${SAVED}/unknown_operation`, { engine: "portable" }, NOTHING],
  ["one with custom ops", `${SAVED}/half_plus_two`, { custom_op_paths: "ops" }, NATIVE],
  ["one at an address", "s3://models/half_plus_two/model.pb", {}, NATIVE],
  ["a TensorFlow.js model", `${OTHER}/js_gru`, {}, NOTHING],
  ["a TFLite file", `${OTHER}/lite_int8/model.tflite`, {}, { packages: ["@litertjs/core"] }],
  ["a TFLite file at an address", "hf://me/mine/net.tflite", {}, { packages: ["@litertjs/core"] }],
  ["a Keras file", `${OTHER}/dense/model.keras`, {}, { packages: ["h5wasm"] }],
])("the image has what the model needs: %s", async (_, path, options, expected) => {
  const { drivers, needs } = await needsOf([{ path, options }], []);
  expect([drivers, needs]).toEqual([["tensorflow"], { runtimes: [], packages: [], ...expected }]);
});

test("an image has ONNX Runtime's build for GPUs where a model's options ask for one", async () => {
  const needsOn = async (backend: string) => {
    const options = { runtime_backend: backend };
    return (await needsOf([{ path: "test/fixtures/models/half-plus-two.onnx", options }], [])).needs.runtimes;
  };
  expect(await needsOn("CUDA")).toEqual(["onnx --device cuda"]);
  expect(await needsOn("CPU")).toEqual([]);
});

test("an image has what the other driver needs for an encoder of transformers that pytorch runs", async () => {
  const files = { "config.json": '{"architectures": ["BertModel"]}', "tokenizer.json": "{}", "model.safetensors": "" };
  const path = tempFolder(files);
  expect((await needsOf([{ path, options: {} }], [])).drivers).toEqual(["transformers"]);
  const own = { path, driver: "pytorch", options: { model_class: "nets:Net" } };
  expect((await needsOf([own], [])).drivers).toEqual(["pytorch"]);
});

test("options of the command line and of stages count", async () => {
  const drivers = ["--driver=tensorflow", "--driver=onnx"];
  const paths = [`--model-path=${SAVED}/half_plus_two`, "--model-path=test/fixtures/models/half-plus-two.onnx"];
  expect(await readDeployment([...drivers, ...paths, "-o", "1:engine=native"], {})).toMatchObject({ needs: NATIVE });
  expect(await readDeployment([...drivers, ...paths, "-o", "2:device=CPU"], {})).toMatchObject({ needs: NOTHING });
  const several = [`--model=half=${SAVED}/half_plus_two`, "-o", "engine=native"];
  expect(await readDeployment(several, {})).toMatchObject({ drivers: ["tensorflow"], needs: NATIVE });
});
