import { describe, expect, it } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { loadPipeline, plain, run } from "../../helpers/run-pipeline.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("A pipeline of OpenVINO and ONNX Runtime", openvinoRuntime);

const DETECTOR = "test/fixtures/models/split-two-outputs.onnx";
const CLASSIFIER = "test/fixtures/models/matmul-dynamic-batch.onnx";

/** Of each row that the first model finds, the second one sees the left half and its sum. */
const hooks = defineHooks({
  postprocess: [
    ({ left }) => {
      const { data, shape } = left as Tensor<"float32">;
      const rows = Array.from({ length: shape[0] as number }, (_, row) => [...data.subarray(2 * row, 2 * row + 2)]);
      return { x: rows.map(([a = 0, b = 0]) => [a, b, a + b]) };
    },
    null,
  ],
});

async function answerOf(drivers: readonly [string, string]): Promise<unknown> {
  const models = [DETECTOR, CLASSIFIER].map((path, index) => ({ driver: drivers[index] as string, path }));
  const { servable } = await loadPipeline({ hooks, models });
  try {
    const tensors = toTensors(
      {
        x: [
          [1, 2, 3, 4],
          [-1, 0.5, 2, 0],
        ],
      },
      () => "float32",
    );
    const { outputs } = await run(servable, { kind: "tensors", tensors });
    return outputs.kind === "tensors" ? plain(outputs.tensors) : outputs;
  } finally {
    await servable.close();
  }
}

describe.skipIf(missing !== undefined)("a pipeline of two models", () => {
  it("answers alike when OpenVINO and ONNX Runtime change places", async () => {
    const [one, other] = [await answerOf(["openvino", "onnx"]), await answerOf(["onnx", "openvino"])];
    expect(one).toEqual(other);
    expect(one).toMatchObject({
      y: [
        [expect.any(Number), expect.any(Number)],
        [expect.any(Number), expect.any(Number)],
      ],
    });
  });
});
