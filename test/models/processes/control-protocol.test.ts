import { describe, expect, test } from "vitest";
import { parseLoaded } from "../../../src/models/processes/control-protocol.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";

const SPEC = { name: "x", dtype: "float32", shape: [-1, { min: 1, max: 8 }] };
const FACTS = {
  ...{ driver: "onnx", path: "a.onnx", defaultSignature: "serving_default", echoes: false, loadMs: 3 },
  signatures: { serving_default: { inputs: [SPEC], outputs: [{ ...SPEC, labels: ["cat"] }] } },
};
const withInput = (spec: unknown) => ({ ...FACTS, signatures: { serving_default: { inputs: [spec] } } });

test("a model's facts are read as they were sent", () => {
  expect(parseLoaded({ facts: FACTS, hookArgs: { session: { $method: "run" } } }).facts).toEqual(FACTS);
});

describe("what is no model's description is malformed:", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["facts that lack some", { signatures: {} }],
    ["facts with others", { ...FACTS, handle: {} }],
    ["an endless time", { ...FACTS, loadMs: Number.POSITIVE_INFINITY }],
    ["notes that are numbers", { ...FACTS, modelInfo: { labels: { count: 3 } } }],
    ["signatures in a list", { ...FACTS, signatures: [] }],
    ["an input without a name", withInput({ dtype: "float32" })],
    ["an unknown dtype", withInput({ ...SPEC, dtype: "constructor" })],
    ["a shape that is a number", withInput({ ...SPEC, shape: 3 })],
    ["a dimension of a half", withInput({ ...SPEC, shape: [0.5] })],
    ["a default that is no tensor", withInput({ ...SPEC, default: { dtype: "float32" } })],
  ])("%s", (_, facts) => {
    expect(() => parseLoaded({ facts, hookArgs: {} })).toThrow(MalformedMessage);
  });
});
