import { describe, expect, it } from "vitest";
import { type DemoPhoto, faceMismatch, loadDemoPhotos, toFoundFaces } from "../../../scripts/demo-photos.ts";
import { makeDemoModels } from "../../../scripts/make-demo-models.ts";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import type { Server } from "../../../src/server/server.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { GRPC } from "../../examples/wires.ts";
import { loadPipeline, plain, run } from "../../helpers/run-pipeline.ts";
import { startServer } from "../../helpers/start-server.ts";
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
  const stages = [DETECTOR, CLASSIFIER].map((path, index) => ({ driver: drivers[index] as string, path }));
  const { servable } = await loadPipeline({ hooks, stages });
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

type Drivers = readonly [detector: string, classifier: string];
const BOTH: readonly Drivers[] = [
  ["openvino", "onnx"],
  ["onnx", "openvino"],
];

/** The faces example with a driver for each of its two models. */
async function startFaces([detector, classifier]: Drivers): Promise<Server> {
  const { blazeface, emotion } = await makeDemoModels();
  return startServer({
    stages: [
      { driver: detector, path: blazeface },
      { driver: classifier, path: emotion },
    ],
    hooks: "examples/hooks/faces-to-emotions.ts",
  });
}

describe.skipIf(missing !== undefined)("the detector of faces and the classifier of emotions", () => {
  it("give the same answers when OpenVINO and ONNX Runtime change places", { timeout: 60_000 }, async () => {
    const servers = await Promise.all(BOTH.map(startFaces));
    for (const { name, bytes, faces } of await loadDemoPhotos()) {
      const [one, other] = await Promise.all(
        servers.map((server) => GRPC.predict(server, { image: Buffer.from(bytes) })),
      );
      expect({ name, wrong: mismatchOf(one, faces) }).toEqual({ name });
      expect({ name, emotions: one?.emotions }).toEqual({ name, emotions: other?.emotions });
      expect({ name, near: farthest(one?.boxes, other?.boxes) < 1 }).toEqual({ name, near: true });
    }
  });
});

function mismatchOf(answer: Readonly<Record<string, unknown>> = {}, faces: DemoPhoto["faces"]): string | undefined {
  return faceMismatch(toFoundFaces(answer.boxes as number[][], answer.emotions as string[]), faces);
}

/** By how many pixels two lists of boxes differ at most. */
function farthest(boxes: unknown, others: unknown): number {
  const [a, b] = [boxes, others].map((list) => (list as number[][]).flat());
  return Math.max(
    0,
    ...(a as number[]).map((edge, index) => Math.abs(edge - (b?.[index] ?? Number.POSITIVE_INFINITY))),
  );
}
