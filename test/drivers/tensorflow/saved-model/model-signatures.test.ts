import { describe, expect, it } from "vitest";
import type { MetaGraphDef, SignatureDef } from "../../../../src/drivers/tensorflow/saved-model/graph-def.ts";
import { loadSavedModel } from "../../../../src/drivers/tensorflow/saved-model/load-saved-model.ts";
import { toModelSignatures } from "../../../../src/drivers/tensorflow/saved-model/model-signatures.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";

function metaGraph(signatureDef: Record<string, SignatureDef>): MetaGraphDef {
  return { signatureDef, collectionDef: {}, assetFileDef: [] };
}

function signature(dtype: number, methodName = ""): SignatureDef {
  const y = { encoding: { case: "name", value: "y:0" }, dtype, tensorShape: { dim: [], unknownRank: true } } as const;
  return { inputs: {}, outputs: { y }, methodName, defaults: {} };
}

describe("toModelSignatures", () => {
  it("gives inputs and outputs sorted by name, with the tensors behind them", () => {
    const meta = loadSavedModel(tensorflowModel("keras_two_inputs"), ["serve"]);
    const { served } = toModelSignatures(meta, "serving_default");
    const names = served.serving_default?.inputs.map(({ name }) => name) ?? [];
    expect(names).toEqual([...names].sort());
    expect(served.serving_default?.inputs[0]).toMatchObject({ nativeName: expect.stringMatching(/:0$/) });
  });

  it("gives signatures in one order, in whichever TensorFlow gave them", () => {
    const orders = [
      { b: signature(1), a: signature(1) },
      { a: signature(1), b: signature(1) },
    ];
    const names = orders.map((each) => Object.keys(toModelSignatures(metaGraph(each), "serving_default").served));
    expect(names).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  it("reads defaults", () => {
    const meta = loadSavedModel(tensorflowModel("defaults"), ["serve"]);
    const { served } = toModelSignatures(meta, "serving_default");
    expect(served.serving_default?.inputs).toMatchObject([
      { name: "scale", default: { data: Float32Array.of(2.5) } },
      {},
    ]);
  });

  it("says what an exporter meant a signature for, and leaves unknown ranks out", () => {
    const { served } = toModelSignatures(metaGraph({ a: signature(1, "tensorflow/serving/classify") }), "a");
    expect(served.a).toEqual({
      inputs: [],
      outputs: [{ name: "y", dtype: "float32", nativeName: "y:0", dataType: 1 }],
      method: "classify",
    });
    expect(served.serving_default).toBe(served.a);
  });

  it("keeps apart what cannot be served", () => {
    const signatures = {
      serving_default: signature(1),
      odd: signature(21, "odd"),
      __saved_model_init_op: signature(0),
    };
    const { served, refused, unserved } = toModelSignatures(metaGraph(signatures), "serving_default");
    expect(Object.keys(served)).toEqual(["serving_default"]);
    expect([...refused]).toEqual([["odd", 'output "y" is of type DT_VARIANT']]);
    const y = (dataType: number) => ({ name: "y", nativeName: "y:0", dataType });
    expect(unserved).toEqual({
      odd: { inputs: [], outputs: [y(21)], methodName: "odd" },
      __saved_model_init_op: { inputs: [], outputs: [y(0)], methodName: "" },
    });
  });

  it("has no default where several signatures have none of the usual name", () => {
    const { served } = toModelSignatures(metaGraph({ a: signature(1), b: signature(1) }), "serving_default");
    expect(Object.keys(served).sort()).toEqual(["a", "b"]);
  });

  it("lists what exists where the signature asked for does not, and says why one cannot be served", () => {
    const meta = metaGraph({ lookup: signature(1), odd: signature(21) });
    expect(() => toModelSignatures(meta, "lokup")).toThrow(
      'no signature "lokup"; it has: lookup. Did you mean "lookup"?',
    );
    expect(() => toModelSignatures(meta, "odd")).toThrow("DT_VARIANT");
  });
});
