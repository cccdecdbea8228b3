import { describe, expect, it, onTestFinished } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { startServer } from "../../helpers/start-server.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { modelPath } from "./load-onnx.ts";

const missing = await missingRuntime("bfloat16 on every wire", importOnnxRuntime);

/** 1.5 and -2. */
const BITS = Uint16Array.of(0x3fc0, 0xc000);
const NUMBERS = [1.5, -2];

const startModel = () => startServer({ stages: [{ driver: "onnx", path: modelPath("identity-bfloat16.onnx") }] });

describe.skipIf(missing !== undefined)("an ONNX model of bfloat16", () => {
  it("gives the bits that came on gRPC", async () => {
    const { grpcAddress } = await startModel();
    const client = createRemoteService(grpcAddress as string, {});
    onTestFinished(() => client.close());
    const inputs = { kind: "tensors", tensors: { x: createTensor("bfloat16", [2], BITS) } } as const;
    const { signal } = new AbortController();
    const { outputs } = await client.infer({
      ref: { model: "" },
      signature: "",
      inputs,
      call: { id: "", metadata: {}, signal },
    });
    expect(outputs).toMatchObject({ tensors: { y: { dtype: "bfloat16", shape: [2], data: BITS } } });
  });

  it("gives the numbers that came in JSON, and the bits in binary", async () => {
    const { httpUrl } = await startModel();
    const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
      fetch(`${httpUrl}${path}`, { method: "POST", body: body as string, headers });
    const predicted = await post("/v1/models/default:predict", JSON.stringify({ inputs: { x: NUMBERS } }));
    expect(await predicted.json()).toEqual({ outputs: NUMBERS });
    const x = { name: "x", shape: [2], datatype: "BF16" };
    const inferred = await post("/v2/models/default/infer", JSON.stringify({ inputs: [{ ...x, data: NUMBERS }] }));
    expect(await inferred.json()).toMatchObject({ outputs: [{ name: "y", datatype: "BF16", data: NUMBERS }] });
    const head = JSON.stringify({
      inputs: [{ ...x, parameters: { binary_data_size: 4 } }],
      parameters: { binary_data_output: true },
    });
    const binary = await post(
      "/v2/models/default/infer",
      Buffer.concat([Buffer.from(head), Buffer.from(BITS.buffer)]),
      {
        "inference-header-content-length": String(head.length),
      },
    );
    expect(Buffer.from(await binary.arrayBuffer()).subarray(-4)).toEqual(Buffer.from(BITS.buffer));
  });
});
