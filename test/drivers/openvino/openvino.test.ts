import { describe, expect, it } from "vitest";
import { findDriver } from "../../../src/drivers/registry.ts";
import { type DriverSubject, describeDriver } from "../driver-contract.ts";
import { expectTensors } from "../expect-tensors.ts";
import { predict } from "../predict.ts";
import { floats, loadModel } from "./open-model.ts";
import { OPENVINO_MODELS, openvinoModel, readRuns } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

/** A model's first two runs, for the contract. */
function samplesOf(name: string): DriverSubject["samples"] {
  return readRuns(name).map(({ inputs, outputs }) => ({ inputs, expected: outputs })) as never;
}

const isThere = await describeDriver({
  name: "openvino",
  runtime: openvinoRuntime,
  modelPath: openvinoModel("add_multiply"),
  samples: samplesOf("add_multiply"),
});

await describeDriver({
  name: "openvino",
  runtime: openvinoRuntime,
  modelPath: openvinoModel("convolutions"),
  options: { num_streams: "2" },
  tolerance: 1e-5,
  samples: samplesOf("convolutions"),
});

await describeDriver({
  name: "openvino",
  runtime: openvinoRuntime,
  modelPath: openvinoModel("pooled"),
  samples: samplesOf("pooled"),
  failing: [{ x: floats([1, 3, 4, 1]) }, { x: floats([2, 3, 1, 4]) }],
});

describe.skipIf(!isThere)("the openvino driver gives what Python OpenVINO gives", () => {
  it.each(OPENVINO_MODELS)("for %s", async (name) => {
    const model = await loadModel(name);
    for (const { inputs, outputs } of readRuns(name)) {
      // Numbers of another processor's vector units; 16-bit floats are compared by their bits.
      expectTensors(await predict(model, inputs), outputs, name.startsWith("type_") ? 0 : 1e-5);
    }
  });
});

describe("the openvino driver", () => {
  it("recognises .xml alone, since other endings have drivers of their own", async () => {
    const { driver } = await findDriver("openvino");
    const paths = ["a.xml", "A.XML", "a.onnx", "a.tflite", "a.pb"];
    expect(paths.filter((path) => driver.detect?.(path))).toEqual(["a.xml", "A.XML"]);
  });
});
