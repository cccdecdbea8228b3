import { describe, expect, it } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import type { Values } from "../../../src/tensor/plain-value.ts";
import type { Signature } from "../../../src/tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../../../src/tensor/tensor.ts";
import { loadPipeline, run } from "../../helpers/run-pipeline.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { floats, loadModel, openModel } from "./open-model.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("The openvino driver's hook arguments", openvinoRuntime);

interface HookArgs {
  readonly driver: string;
  readonly model_inputs: unknown;
  readonly model_outputs: unknown;
  readonly exec_net: {
    infer(inputs: Values, outputs?: readonly string[]): Promise<Tensors>;
    get_property(key: string): Promise<string>;
  };
  readonly plugin: {
    readonly device: string;
    readonly available_devices: readonly string[];
    load(name: string, path: string, weights?: string): Promise<Required<Signature>>;
    infer(name: string, inputs: Values, outputs?: readonly string[]): Promise<Tensors>;
    unload(name: string): Promise<void>;
  };
}

async function argsOf(name: string): Promise<HookArgs> {
  return (await loadModel(name)).hookArgs as unknown as HookArgs;
}

describe.skipIf(missing !== undefined)("hooks of an openvino model receive", () => {
  it("the model's inputs and outputs, and what runs it", async () => {
    const { driver, model_inputs, model_outputs } = await argsOf("add_multiply");
    expect({ driver, model_inputs, model_outputs }).toEqual({
      driver: "openvino",
      model_inputs: { x: [-1, 4], y: [-1, 4] },
      model_outputs: ["sum", "product"],
    });
  });

  it("exec_net, which runs on plain values and returns settings", async () => {
    const { exec_net } = await argsOf("add_multiply");
    const inputs = { x: [[1, 2, 3, 4]], y: floats([1, 4], 1, 1, 1, 1) };
    expect(await exec_net.infer(inputs, ["sum"])).toEqual({ sum: floats([1, 4], 2, 3, 4, 5) });
    expect(await exec_net.get_property("INFERENCE_PRECISION_HINT")).toBe("f32");
  });

  it.each<[string, Values, readonly string[] | undefined, RegExp]>([
    ["an input that is missing", { x: [[1, 2, 3, 4]] }, undefined, /^Input "y" is missing/],
    ["an unknown input", { xx: [1] }, undefined, /no input "xx"\. Did you mean "x"/],
    [
      "an unknown output",
      { x: [[1, 2, 3, 4]], y: [[1, 2, 3, 4]] },
      ["total"],
      /no output "total"\..* It has sum, product/,
    ],
    ["strings for numbers", { x: ["a"], y: [[1, 2, 3, 4]] }, undefined, /x/],
  ])("exec_net, which refuses %s", async (_what, inputs, outputs, message) => {
    const { exec_net } = await argsOf("add_multiply");
    await expect(exec_net.infer(inputs, outputs)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(message),
    });
  });

  it("exec_net, which names a setting that the device does not have", async () => {
    const { exec_net } = await argsOf("dense");
    await expect(exec_net.get_property("NOTHING")).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("plugin, which runs more models of any format on the same device", async () => {
    const { plugin } = await argsOf("add_multiply");
    expect(plugin).toMatchObject({ device: "CPU", available_devices: expect.arrayContaining(["CPU"]) });
    expect(await plugin.load("dense", openvinoModel("dense"))).toMatchObject({
      inputs: [{ name: "x" }],
      outputs: [{ name: "y" }],
    });
    expect(await plugin.load("onnx", openvinoModel("onnx_matmul"))).toMatchObject({ inputs: [{ shape: [-1, 3] }] });
    for (const name of ["dense", "onnx"]) {
      expect((await plugin.infer(name, { x: [[1, 2, 3]] })).y?.shape).toEqual([1, 2]);
    }
    await plugin.unload("dense");
    await expect(plugin.infer("dense", { x: [[1, 2, 3]] })).rejects.toMatchObject({ code: "failed_precondition" });
  });

  it("handles that work from another thread than the model's", async () => {
    const hooks = defineHooks({
      process: async (inputs, _ctx, args) => {
        const { exec_net, plugin } = args as unknown as HookArgs;
        await plugin.load("dense", openvinoModel("dense"));
        const { y } = await exec_net.infer(inputs);
        return { first: y as Tensor, second: (await plugin.infer("dense", inputs)).y as Tensor };
      },
    });
    const { servable } = await loadPipeline({ hooks, stages: [{ driver: "openvino", path: openvinoModel("dense") }] });
    const { outputs } = await run(servable, { kind: "tensors", tensors: { x: floats([1, 3], 1, 2, 3) } });
    await servable.close();
    const { first, second } = (outputs as { tensors: Tensors }).tensors;
    expect(first).toEqual(second);
    expect(first?.shape).toEqual([1, 2]);
  });

  it("plugin, whose models end with the stage's", async () => {
    const model = await openModel("dense");
    const { plugin } = model.hookArgs as unknown as HookArgs;
    await plugin.load("other", openvinoModel("add_multiply"));
    await model.close();
    await expect(plugin.infer("other", { x: [[1]], y: [[1]] })).rejects.toMatchObject({ code: "failed_precondition" });
  });
});
