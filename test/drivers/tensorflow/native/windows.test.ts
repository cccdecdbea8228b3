import { describe, expect, it } from "vitest";
import type { Model } from "../../../../src/drivers/driver.ts";
import type { SessionHandle } from "../../../../src/drivers/tensorflow/native/native-model.ts";
import type { Feed } from "../../../../src/drivers/tensorflow/native/run-session.ts";
import { ShapeGuard } from "../../../../src/drivers/tensorflow/native/shape-guard.ts";
import { parseMessage } from "../../../../src/drivers/tensorflow/saved-model/tensorflow-messages.ts";
import { createTensor, createTensors } from "../../../../src/tensor/tensor.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { constant, type NodeJson, type, writeGraph } from "../portable/graph-writer.ts";
import { floats, loadNative } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("Windows that do not fit", tensorflowRuntime);

const X: NodeJson = { name: "x", op: "Placeholder", attr: { dtype: type("float32"), shape: { shape: {} } } };
const bytes = (value: string) => ({ s: Buffer.from(value).toString("base64") });
const list = (...values: number[]) => ({ list: { i: values.map(String) } });
const integers = (name: string, shape: number[], ...values: number[]) =>
  constant(name, createTensor("int32", shape, Int32Array.from(values)));
const node = (name: string, op: string, input: string[], attr: NodeJson["attr"] = {}): NodeJson => ({
  ...{ name, op, input },
  attr: { T: type("float32"), ...attr },
});

const VALID = { strides: list(1, 1, 1, 1), padding: bytes("VALID") };
const zeros = (...shape: number[]) => floats(shape, ...Array(shape.reduce((one, other) => one * other)).fill(0));
const FILTER = constant("filter", zeros(3, 3, 2, 5));
const convolution = (input: string, attr = {}) => [
  FILTER,
  node("end", "Conv2D", [input, "filter"], { ...VALID, ...attr }),
];
const pool = (input: string, attr = {}) => [
  node("end", "MaxPool", [input], { ...VALID, ksize: list(1, 3, 3, 1), ...attr }),
];

/** Ways from the input to a window, with the smallest shape of the input that it fits. */
const WAYS: Readonly<Record<string, readonly [nodes: NodeJson[], shape: number[], axis: number]>> = {
  "at once": [pool("x"), [1, 3, 3, 2], 1],
  "of the other axis": [pool("x"), [1, 3, 3, 2], 2],
  "of a convolution": [convolution("x"), [1, 3, 3, 2], 1],
  dilated: [convolution("x", { dilations: list(1, 2, 1, 1) }), [1, 5, 3, 2], 1],
  "of channels in front": [
    pool("x", { data_format: bytes("NCHW"), ksize: list(1, 1, 3, 3), strides: list(1, 1, 2, 2) }),
    [1, 2, 3, 3],
    2,
  ],
  "with its own padding": [
    convolution("x", { padding: bytes("EXPLICIT"), explicit_paddings: list(0, 0, 1, 0, 0, 0, 0, 0) }),
    [1, 2, 3, 2],
    1,
  ],
  "behind an activation and a constant": [
    [constant("c", zeros(2)), node("sum", "AddV2", ["c", "x"]), node("y", "Relu", ["sum"]), ...pool("y")],
    [1, 3, 3, 2],
    1,
  ],
  "behind padding": [
    [integers("pads", [4, 2], 0, 0, 1, 0, 0, 0, 0, 0), node("y", "Pad", ["x", "pads"]), ...pool("y")],
    [1, 2, 3, 2],
    1,
  ],
  "behind a transposition": [
    [integers("order", [4], 0, 2, 3, 1), node("y", "Transpose", ["x", "order"]), ...pool("y")],
    [1, 2, 3, 3],
    3,
  ],
  "behind one dimension more": [
    [integers("axis", [], -3), node("y", "ExpandDims", ["x", "axis"]), ...pool("y", { ksize: list(1, 1, 3, 1) })],
    [1, 3, 2],
    1,
  ],
  "behind a crop": [
    [
      ...[integers("from", [3], 0, 1, 0), integers("to", [3], 0, -1, 0), integers("steps", [3], 1, 2, 1)],
      node("y", "StridedSlice", ["x", "from", "to", "steps"], { begin_mask: { i: "5" }, end_mask: { i: "5" } }),
      ...pool("y"),
    ],
    [1, 7, 3, 2],
    1,
  ],
  "behind branches": [
    [integers("axis", [], 3), node("y", "ConcatV2", ["x", "x", "axis"]), ...pool("y")],
    [1, 3, 3, 2],
    1,
  ],
  "behind a window of strides": [
    [
      FILTER,
      node("y", "Conv2D", ["x", "filter"], { ...VALID, strides: list(1, 2, 2, 1), padding: bytes("SAME") }),
      ...pool("y"),
    ],
    [1, 5, 5, 2],
    1,
  ],
  "behind a mean": [
    [integers("axis", [1], 2), node("y", "Mean", ["x", "axis"], { keep_dims: { b: true } })].concat(
      pool("y", { ksize: list(1, 3, 1, 1) }),
    ),
    [1, 3, 1, 2],
    1,
  ],
};

function faultOf(nodes: readonly NodeJson[], shape: readonly number[]): string | undefined {
  const guard = new ShapeGuard(parseMessage("GraphDef", writeGraph([X, ...nodes])));
  const check = (given: readonly number[]) =>
    guard.check([{ target: { name: "x:0" }, tensor: { shape: given } } as unknown as Feed], ["end:0"]);
  check(shape.map((size) => size * 9));
  try {
    check(shape);
    return undefined;
  } catch (reason) {
    return (reason as Error).message;
  }
}

describe("a window that is larger than its input", () => {
  it.each(Object.entries(WAYS))("is refused before TensorFlow gets it: %s", (_way, [nodes, shape, axis]) => {
    expect(faultOf(nodes, shape)).toBeUndefined();
    const smaller = shape.with(axis, shape[axis]! - 1);
    expect(faultOf(nodes, smaller)).toMatch(/^(Conv2D|MaxPool) takes an input of \dx\d or more for its window, and/);
  });

  it.each([
    ["its input is of any size", [node("y", "UnknownOperation", ["x"]), ...pool("y")]],
    ["it is filled up", pool("x", { padding: bytes("SAME") })],
    ["TensorFlow answers nothing, rightly", [{ ...pool("x")[0]!, op: "AvgPool" }]],
  ])("is let through where %s", (_why, nodes) => {
    expect(faultOf(nodes, [1, 1, 1, 2])).toBeUndefined();
  });
});

/** Signatures of the model, with the operation of each and the axes that its window moves along. */
const SIGNATURES = [
  ["max_pool", "MaxPool", 2],
  ["max_pool_3d", "MaxPool3D", 3],
  ["conv", "Conv2D", 2],
  ["depthwise", "DepthwiseConv2dNative", 2],
  ["conv_3d", "Conv3D", 3],
] as const;

const ones = (axes: number, size: number) => {
  const shape = [1, ...Array<number>(axes).fill(size), 2];
  return floats(shape, ...Array(2 * size ** axes).fill(1));
};

describe.skipIf(missing !== undefined)("the process goes on, with inputs of every size", () => {
  const refusal = (operation: string, axes: number, size: number) => {
    const [needs, has] = [3, size].map((each) => Array(axes).fill(each).join("x"));
    const text = `${operation} takes an input of ${needs} or more for its window, and this one has ${has}\\.`;
    return {
      code: "invalid_argument",
      message: expect.stringMatching(new RegExp(`^The model failed in node ".*": ${text} The inputs were .* float32`)),
    };
  };

  it.each(SIGNATURES)("of requests: %s", async (signature, operation, axes) => {
    const model = await loadNative("windows");
    for (const size of [2, 1, 0]) {
      const answer = predict(model, { x: ones(axes, size) }, { signature });
      await expect(answer).rejects.toMatchObject(refusal(operation, axes, size));
    }
    const { y } = await predict(model, { x: ones(axes, 3) }, { signature });
    expect(y?.shape.slice(1, -1)).toEqual(Array(axes).fill(1));
  });

  it.each(SIGNATURES)("of parts that a client runs, and that hooks run: %s", async (signature, operation, axes) => {
    const model = await loadNative("windows");
    const { input, output } = namesOf(model, signature);
    const call = { fetches: [output], targets: [], signal: new AbortController().signal };
    const run = (size: number) => model.runGraph!(createTensors([[input, ones(axes, size)]]), call);
    const sess = model.hookArgs?.sess as SessionHandle;
    const hook = (size: number) => sess.run(output, { [input]: ones(axes, size) });
    for (const part of [run, hook]) {
      await expect(part(2)).rejects.toMatchObject(refusal(operation, axes, 2));
      await expect(part(3)).resolves.toBeDefined();
    }
  });
});

function namesOf(model: Model, signature: string): { input: string; output: string } {
  const { inputs, outputs } = model.signatures[signature]!;
  return { input: inputs![0]!.nativeName!, output: outputs![0]!.nativeName! };
}
