import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../../src/drivers/onnx/onnx-runtime.ts";
import type { SessionHandle } from "../../../../src/drivers/onnx/onnx-session.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { encodeModel } from "../../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { loadOnnx } from "../load-onnx.ts";

const missing = await missingRuntime("Values of ONNX Runtime's C API", importOnnxRuntime);
const list = (...values: number[]) => createTensor("float32", [values.length], Float32Array.from(values));

async function sessionOf(name: string): Promise<SessionHandle> {
  return (await loadOnnx(name, { engine: "native" })).hookArgs?.session as SessionHandle;
}

describe.skipIf(missing !== undefined)("args.session.run", () => {
  it("takes a sequence as an array of tensors or plain values", async () => {
    const session = await sessionOf("sequence-input.onnx");
    expect(await session.run({ rows: [list(1, 2), [3]] })).toEqual({ first: list(1, 2) });
  });

  it.each(["float32", "int8", "string"] as const)("takes an empty sequence of %s", async (elemType) => {
    const graph = {
      name: "length",
      inputs: [{ name: "rows", type: { sequence: { elemType } } }],
      outputs: [{ name: "count", type: { elemType: "int64", shape: [] } }],
      nodes: [{ op: "SequenceLength", inputs: ["rows"], outputs: ["count"] }],
    } as const;
    const folder = tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) });
    const session = await sessionOf(`${folder}/model.onnx`);
    for (const length of [0n, 1n, 0n]) {
      const row = elemType === "string" ? ["a"] : [1];
      const { count } = await session.run({ rows: length === 0n ? [] : [row] });
      expect(count).toEqual(createTensor("int64", [], BigInt64Array.of(length)));
    }
  });

  it("gives a sequence as an array", async () => {
    const session = await sessionOf("sequence-output.onnx");
    const row = (...values: number[]) => createTensor("float32", [1, 2], Float32Array.from(values));
    expect(await session.run({ x: [[1, 2], [3, 4]] })).toEqual({ rows: [row(1, 2), row(3, 4)] }); // biome-ignore format: rows
  });

  it("takes a map as an object", async () => {
    const session = await sessionOf("map-input.onnx");
    const { vector } = await session.run({ counts: { dog: 3, cat: 1 } });
    expect(vector).toEqual(createTensor("int64", [1, 2], BigInt64Array.of(1n, 3n)));
  });

  it("gives a classifier's maps as objects", async () => {
    const session = await sessionOf("map-output.onnx");
    expect(await session.run({ x: [[0.25, 0.75]] })).toEqual({ scores: [{ cat: 0.25, dog: 0.75 }] });
  });

  it("takes an optional's value", async () => {
    const session = await sessionOf("optional-input.onnx");
    expect(await session.run({ maybe: [1] })).toEqual({ present: createTensor("bool", [], Uint8Array.of(1)) });
  });

  it.each([
    [
      "sequence-input.onnx",
      { rows: 1 },
      'Input "rows" is not an array; the model takes a sequence of float32 tensors.',
    ],
    ["sequence-input.onnx", { rows: [["text"]] }, 'Input "rows[0]" is bytes; the model takes float32.'],
    ["map-input.onnx", { counts: [1] }, 'Input "counts" is not a plain object; the model takes a map.'],
    [
      "optional-input.onnx",
      { maybe: null },
      'Input "maybe" is an optional without a value, which ONNX Runtime\'s C API has no way to pass.',
    ],
  ])("refuses of %s %j", async (name, feeds, message) => {
    const session = await sessionOf(name);
    await expect(session.run(feeds as never)).rejects.toMatchObject({ code: "invalid_argument", message });
  });
});

describe.skipIf(missing !== undefined)("a request for a model whose values are no tensors", () => {
  it("is refused with the way to run the model", async () => {
    const model = await loadOnnx("sequence-input.onnx", { engine: "native" });
    await expect(predict(model, {})).rejects.toMatchObject({
      code: "failed_precondition",
      message:
        '"rows" is a sequence of float32 tensors, which no request carries; a hook can run the model by args.session.run.',
    });
  });

  it("gets the outputs that are tensors, or scores of classes", async () => {
    const scores = { sequence: { map: { key: "int64", value: { elemType: "float32" } } } } as const;
    const graph = {
      name: "classifier",
      inputs: [{ name: "x", type: { elemType: "float32", shape: ["N", 2] } }],
      outputs: [
        { name: "label", type: { elemType: "float32", shape: ["N", 2] } },
        { name: "scores", type: scores },
        { name: "rows", type: { sequence: { elemType: "float32" } } },
      ],
      nodes: [
        { op: "Neg", inputs: ["x"], outputs: ["label"] },
        { op: "SequenceConstruct", inputs: ["x"], outputs: ["rows"] },
        {
          op: "ZipMap",
          domain: "ai.onnx.ml",
          inputs: ["x"],
          outputs: ["scores"],
          attributes: { classlabels_int64s: [7, 8] },
        },
      ],
    } as const;
    const bytes = encodeModel({ opset: 17, domains: { "ai.onnx.ml": 1 }, graph });
    const model = await loadOnnx(`${tempFolder({ "model.onnx": bytes })}/model.onnx`, { engine: "native" });
    const x = createTensor("float32", [1, 2], Float32Array.of(0.25, 0.75));
    expect(model.signatures[DEFAULT_SIGNATURE]?.outputs?.map(({ name }) => name)).toEqual(["label", "scores"]);
    expect(Object.keys(await predict(model, { x }))).toEqual(["label", "scores"]);
    const session = model.hookArgs?.session as SessionHandle;
    expect((await session.run({ x })).scores).toEqual([{ 7: 0.25, 8: 0.75 }]);
  });

  it("gives an optional as a tensor", async () => {
    const model = await loadOnnx("optional-input.onnx", { engine: "native" });
    expect((await predict(model, { maybe: list(1) })).present?.data).toEqual(Uint8Array.of(1));
  });
});
