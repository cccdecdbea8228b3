import { describe, expect, it } from "vitest";
import { connect } from "../../grpc/byte-client.ts";
import { judge } from "../../grpc/judge.ts";
import { startServer } from "../../helpers/start-server.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("Serving with OpenVINO", openvinoRuntime);

const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const start = () =>
  startServer({ models: [{ driver: "openvino", path: openvinoModel("add_multiply") }], options: { device: "CPU" } });

describe.skipIf(missing !== undefined)(
  "clients of OpenVINO Model Server, which speak TensorFlow Serving's protocols, get answers",
  () => {
    it.each([
      [
        "rows",
        { instances: [{ x: [1, 2, 3, 4], y: [2, 2, 2, 2] }] },
        { predictions: [{ sum: [3, 4, 5, 6], product: [2, 4, 6, 8] }] },
      ],
      [
        "columns",
        { inputs: { x: [[1, 2, 3, 4]], y: [[2, 2, 2, 2]] } },
        { outputs: { sum: [[3, 4, 5, 6]], product: [[2, 4, 6, 8]] } },
      ],
    ])("over REST in %s", async (_form, question, answer) => {
      const { httpUrl } = await start();
      const response = await fetch(`${httpUrl}/v1/models/default:predict`, {
        method: "POST",
        body: JSON.stringify(question),
      });
      expect([response.status, await response.json()]).toEqual([200, answer]);
    });

    it("over gRPC, with values and with raw bytes", async () => {
      const { grpcAddress } = await start();
      const client = connect(grpcAddress as string);
      const tensor_shape = { dim: [{ size: 1 }, { size: 4 }] };
      const x = { dtype: "DT_FLOAT", tensor_shape, float_val: [1, 2, 3, 4] };
      const y = { dtype: "DT_FLOAT", tensor_shape, tensor_content: Buffer.from(Float32Array.of(2, 2, 2, 2).buffer) };
      const request = judge.encodeRequest({
        model_spec: { name: "default" },
        inputs: { x, y },
        output_filter: ["sum"],
      });
      expect(judge.decodeResponse((await client.call(PREDICT, request)).bytes)).toMatchObject({
        outputs: { sum: { dtype: "DT_FLOAT", float_val: [3, 4, 5, 6] } },
      });
    });

    it("that say what was wrong with their arrays", async () => {
      const { httpUrl } = await start();
      const body = JSON.stringify({ inputs: { x: [[1, 2, 3, 4]], y: [[1, 2, 3]] } });
      const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
      expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(/y.*\[1,3\]/)]);
    });
  },
);
