import { describe, expect, test } from "vitest";
import { parseHookEvent } from "../../../src/hooks/host/parse-hook-messages.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const edges = { replacesChain: false, changesInputs: false, changesOutputs: true };
const facts = { hookPlaces: [] };
const log = { level: "info", message: "x", fields: {} };
const lease = { id: 1, driver: "onnx", path: "m.onnx", options: {} };
const shared = createTensor("float32", [1], new Float32Array(new SharedArrayBuffer(4)));

test.each([
  { ready: true },
  { failed: { code: "internal", message: "x", cause: { message: "y", stack: "z" } } },
  { log },
  { loadModel: lease },
  { closeModel: 3 },
  { declared: { edges, facts: { hookPlaces: ["preprocess 1", "postprocess 12"], entries: ["handler"] } } },
  { declared: { facts, edges: { ...edges, inputs: [{ name: "x", dtype: "float32", shape: [-1] }] } } },
])("an event of a hook thread passes: %o", (event) => {
  expect(parseHookEvent(event)).toBe(event);
});

describe("what a hook may post instead is malformed:", () => {
  test.each<[unknown]>([
    [undefined],
    [null],
    ["ready"],
    [[]],
    [{}],
    [{ ready: true, failed: { code: "internal", message: "x" } }],
    [JSON.parse('{"__proto__":true}')],
    [{ toString: true }],
    [{ ready: {} }],
    [{ failed: "no" }],
    [{ failed: { code: 1, message: {} } }],
    [{ failed: { code: "internal", message: "x", cause: { message: 1 } } }],
    [{ log: { ...log, level: "toString" } }],
    [{ log: { ...log, level: "silent" } }],
    [{ log: { ...log, message: 1 } }],
    [{ log: { ...log, fields: new Uint8Array(4) } }],
    [{ loadModel: { ...lease, id: "1" } }],
    [{ loadModel: { ...lease, driver: undefined } }],
    [{ loadModel: { ...lease, options: { a: 1 } } }],
    [{ closeModel: {} }],
    [{ declared: {} }],
    [{ declared: { edges } }],
    [{ declared: { edges, facts: { hookPlaces: ["preprocess 1", "run 1"] } } }],
    [{ declared: { edges, facts: { hookPlaces: "process" } } }],
    [{ declared: { edges, facts: { ...facts, entries: [1] } } }],
    [{ declared: { facts, edges: { ...edges, replacesChain: "yes" } } }],
    [{ declared: { facts, edges: { ...edges, inputs: [{ name: "x" }] } } }],
    [{ declared: { facts, edges: { ...edges, outputs: [{ name: "x", dtype: "float32", default: shared }] } } }],
    [{ declared: { facts, edges, options: { a: { type: "nope" } } } }],
  ])("%o", (event) => {
    expect(() => parseHookEvent(event)).toThrow(MalformedMessage);
  });
});
