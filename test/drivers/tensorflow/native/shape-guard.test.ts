import { describe, expect, it } from "vitest";
import type { Feed } from "../../../../src/drivers/tensorflow/native/run-session.ts";
import { ShapeGuard } from "../../../../src/drivers/tensorflow/native/shape-guard.ts";
import { parseMessage } from "../../../../src/drivers/tensorflow/saved-model/tensorflow-messages.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { constant, type NodeJson, type, writeGraph } from "../portable/graph-writer.ts";
import { floats, loadNative } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("The ranks of convolutions", tensorflowRuntime);

const ANY_RANK = { shape: { unknownRank: true } };
const X: NodeJson = { name: "x", op: "Placeholder", attr: { dtype: type("float32"), shape: ANY_RANK } };
const STRIDES = { list: { i: ["1", "1", "1", "1"] } };
const FLOAT = type("float32");

function convolution(input: string): NodeJson[] {
  const attr = { T: FLOAT, strides: STRIDES, padding: { s: Buffer.from("SAME").toString("base64") } };
  return [constant("filter", floats([1, 1, 1, 1], 2)), { name: "conv", op: "Conv2D", input: [input, "filter"], attr }];
}

const axis = (value: number) => constant("axis", createTensor("int32", [], Int32Array.of(value)));
const sizes = (...values: number[]) =>
  constant("sizes", createTensor("int32", [values.length], Int32Array.from(values)));
const node = (name: string, op: string, ...input: string[]): NodeJson => ({ name, op, input, attr: { T: FLOAT } });

/** Ways from the input to a convolution, with the one rank of the input that it takes. */
const WAYS: Readonly<Record<string, readonly [nodes: NodeJson[], rank: number | undefined]>> = {
  "at once": [convolution("x"), 4],
  "element by element": [[node("y", "Relu", "x"), ...convolution("y")], 4],
  "with a constant": [[constant("c", floats([], 1)), node("y", "AddV2", "x", "c"), ...convolution("y")], 4],
  "with one dimension more": [[axis(0), node("y", "ExpandDims", "x", "axis"), ...convolution("y")], 3],
  "reshaped, whatever it is": [
    [sizes(1, -1, 1, 1), node("y", "Reshape", "x", "sizes"), ...convolution("y")],
    undefined,
  ],
};

function faultOf(nodes: readonly NodeJson[], rank: number): string | undefined {
  const guard = new ShapeGuard(parseMessage("GraphDef", writeGraph([X, ...nodes])));
  const feed = { target: { name: "x:0" }, tensor: { shape: Array(rank).fill(1) } } as unknown as Feed;
  try {
    guard.check([feed], ["conv:0"]);
    guard.check([feed], ["conv:0"]);
    return undefined;
  } catch (reason) {
    return (reason as Error).message;
  }
}

describe("a convolution's input of too few dimensions", () => {
  it.each(Object.entries(WAYS))("is refused before TensorFlow gets it: %s", (_way, [nodes, rank = 0]) => {
    for (let given = 0; given < 7; given++) {
      const text = `Conv2D takes an input of 4 dimensions, and this one has ${4 - rank + given} [[{{node conv}}]]`;
      expect(faultOf(nodes, given)).toBe(given < rank ? text : undefined);
    }
  });

  it("is let through where nothing tells its rank", () => {
    expect(faultOf([node("y", "UnknownOperation", "x"), ...convolution("y")], 1)).toBeUndefined();
  });

  it("is not looked for where the run needs no convolution", () => {
    const guard = new ShapeGuard(
      parseMessage("GraphDef", writeGraph([X, node("y", "Relu", "x"), ...convolution("x")])),
    );
    const feed = { target: { name: "x" }, tensor: { shape: [] } } as unknown as Feed;
    expect(() => guard.check([feed], ["y"])).not.toThrow();
  });
});

describe.skipIf(missing !== undefined)("the process goes on, with inputs of every rank", () => {
  const expected = {
    code: "invalid_argument",
    message: expect.stringMatching(/^The model failed in node ".*": Conv2D takes an input of 4 dimensions, and this/),
  };

  it("of a frozen graph", async () => {
    const path = `${tempFolder({ "model.pb": writeGraph([X, ...convolution("x")]) })}/model.pb`;
    const model = await loadNative(path);
    for (const shape of [[], [3], [1, 3], [1, 1, 3]]) {
      const x = floats(shape, ...Array(shape.length === 0 ? 1 : 3).fill(1));
      await expect(predict(model, { x })).rejects.toMatchObject(expected);
    }
    expect((await predict(model, { x: floats([1, 1, 1, 1], 3) })).conv).toEqual(floats([1, 1, 1, 1], 6));
  });

  it("of a Keras model, whose convolution is in a function", async () => {
    const model = await loadNative("keras_convolution");
    const [input] = model.signatures.serving_default?.inputs ?? [];
    await expect(predict(model, { [input!.name]: floats([3], 1, 2, 3) })).rejects.toMatchObject(expected);
  });

  it("of parts that a client runs", async () => {
    const model = await loadNative("keras_convolution");
    const [input] = model.signatures.serving_default?.inputs ?? [];
    const { nativeName } = input as unknown as { nativeName: string };
    const [output] = model.signatures.serving_default?.outputs ?? [];
    const run = { fetches: [output!.nativeName!], targets: [], signal: new AbortController().signal };
    const feeds = Object.assign(Object.create(null), { [nativeName]: floats([1], 1) });
    await expect(model.runGraph!(feeds, run as never)).rejects.toMatchObject(expected);
  });
});
