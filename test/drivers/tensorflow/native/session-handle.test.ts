import { describe, expect, it } from "vitest";
import type { Model } from "../../../../src/drivers/driver.ts";
import type { GraphHandle, SessionHandle } from "../../../../src/drivers/tensorflow/native/native-model.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { floats, loadNative } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("What hooks of a TensorFlow model receive", tensorflowRuntime);

describe.skipIf(missing !== undefined)("hooks of a TensorFlow model receive", () => {
  it("the driver's name, the inputs' shapes and the outputs' names", async () => {
    const { hookArgs } = await loadNative("many_signatures");
    expect(hookArgs).toMatchObject({
      driver: "tensorflow",
      model_inputs: { negative: [], x: [-1, 3] },
      model_outputs: ["y"],
    });
  });

  it("the graph, whose operations have types and outputs", async () => {
    const operations = await graphOf(await loadNative("frozen_graph")).operations();
    expect(operations.find(({ name }) => name === "x")).toEqual({
      name: "x",
      type: "Placeholder",
      outputs: [{ name: "x:0", dtype: "float32", shape: [-1, 3] }],
    });
  });

  it("the names of types that no request can carry", async () => {
    const operations = await graphOf(await loadNative("counter")).operations();
    const variable = operations.find(({ type }) => type === "VarHandleOp");
    expect(variable?.outputs).toEqual([{ name: expect.any(String), dtype: "DT_RESOURCE", shape: [] }]);
  });

  it("the session, which gives any tensor of the graph, for values that take its dtype", async () => {
    const sess = sessionOf(await loadNative("frozen_graph"));
    const [relu, best] = await sess.run(["Identity:0", "Identity_1"], { x: [[0, 0, 0]] });
    expect(relu).toEqual(floats([1, 2], 0, 0));
    expect(best).toMatchObject({ dtype: "int64", shape: [1] });
    expect(await sess.run("Identity", { "x:0": floats([1, 3], 0, 0, 0) })).toEqual(relu);
    expect(await sess.run([], {})).toEqual([]);
  });

  it("the session, which gives back what was fed where that is asked for", async () => {
    const sess = sessionOf(await loadNative("frozen_graph"));
    const x = floats([1, 3], 1, 0, 0);
    const [relu, same] = await sess.run(["Identity", "x"], { "x:0": x });
    expect(relu?.shape).toEqual([1, 2]);
    expect(same).toEqual(x);
    expect(same?.data).not.toBe(x.data);
  });

  it.each([
    [
      "an operation that the graph lacks",
      "Idntity",
      {},
      'The graph has no operation "Idntity". Did you mean "Identity"?',
    ],
    ["a feed that the graph lacks", "Identity", { y: 1 }, 'The graph has no operation "y".'],
    ["a feed of another dtype", "Identity", { x: [["text"]] }, 'Feed "x" is bytes; the graph takes float32.'],
    [
      "a missing feed",
      "Identity",
      {},
      /^The model failed in node "x": You must feed a value .* The run had no inputs\.$/,
    ],
    ["dimensions that do not fit", "Identity", { x: [[1, 2]] }, /The inputs were x float32\[1,2\]/],
  ])("the session, which refuses %s", async (_what, fetch, feeds, message) => {
    const sess = sessionOf(await loadNative("frozen_graph"));
    await expect(sess.run(fetch, feeds as never)).rejects.toMatchObject({
      code: "invalid_argument",
      message: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
    });
  });

  it("the session, which refuses to give a resource", async () => {
    const model = await loadNative("counter");
    const [variable] = (await graphOf(model).operations()).filter(({ type }) => type === "VarHandleOp");
    await expect(sessionOf(model).run(variable?.name as string)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("is of type DT_RESOURCE"),
    });
  });
});

function sessionOf(model: Model): SessionHandle {
  return model.hookArgs?.sess as SessionHandle;
}

function graphOf(model: Model): GraphHandle {
  return model.hookArgs?.graph as GraphHandle;
}
