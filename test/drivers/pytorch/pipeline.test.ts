import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmPython } from "../../helpers/warm-python.ts";
import { IMPORT_PATH } from "../python/load-model.ts";
import { makeTorchCases } from "./torch-cases.ts";

const python = findPython("A pipeline of three drivers", ["torch"]);
const warm = warmPython(python, "torch");
const made = python === undefined ? undefined : makeTorchCases(warm);

/**
 * onnx halves and adds two, pytorch takes that as its rows, null passes on what the
 * hooks make of it; the model's own method is asked too.
 */
const HOOKS = `
import { defineHooks } from "kserving";
export default defineHooks({
  postprocess: [
    ({ y }) => ({ x: { dtype: "float32", shape: [2, 4], data: y.data } }),
    async ({ output }, ctx, { model }) => {
      const { factor } = await model.call("scaled", [{ dtype: "float32", shape: [1, 4], data: new Float32Array(4) }, 3]);
      return { output, factor, driver: ctx.drivers[1].name };
    },
    (outputs) => outputs,
  ],
});`;

describe.skipIf(made === undefined)("a pipeline of onnx, pytorch and null", () => {
  it("finds the class next to the hooks, and answers like PyTorch over both transports", async () => {
    const { folder, cases } = made!;
    const { x } = cases.net!.inputs as { x: Tensor<"float32"> };
    const server = await startServer({
      stages: [
        { driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" },
        {
          driver: "pytorch",
          path: join(folder, "net.state.pt"),
          options: { python: warm, model_class: "own_net:Net" },
        },
        { driver: "null" },
      ],
      hooks: join(
        tempFolder({ "hooks.ts": HOOKS, "own_net.py": readFileSync(`${IMPORT_PATH}/toy/nets.py`) }),
        "hooks.ts",
      ),
    });
    const before = x.data.map((value) => (value - 2) * 2);
    const expected = cases.net!.outputs[0]!.data as Float32Array;

    const remote = createRemoteService(server.grpcAddress, {});
    onTestFinished(() => remote.close());
    const tensors = createTensors([["x", createTensor("float32", [8], before)]]);
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const inputs = { kind: "tensors", tensors } as const;
    const answer = await remote.infer({ ref: { model: "" }, signature: "", inputs, call });
    const { output, factor, driver } = (answer.outputs as { tensors: Record<string, Tensor> }).tensors;
    expect([...(output as Tensor<"float32">).data]).toEqual([...expected]);
    expect(factor?.data[0]).toBe(3);
    expect(Buffer.from(driver?.data[0] as Uint8Array).toString()).toBe("pytorch");

    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [8], data: [...before] }] });
    const response = await fetch(`${server.httpUrl}/v2/models/default/infer`, { method: "POST", body });
    const { outputs } = (await response.json()) as { outputs: { name: string; data: number[] }[] };
    const overHttp = outputs.find(({ name }) => name === "output")?.data ?? [];
    expect(overHttp.map(Math.fround)).toEqual([...expected]);
  });
});
