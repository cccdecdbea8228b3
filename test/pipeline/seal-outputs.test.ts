import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { pickOutputs } from "../../src/pipeline/seal-outputs.ts";
import { toOutput, toTensors, type Values } from "../../src/tensor/plain-value.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("outputs are picked in the order that was asked for, and one that is not there is named", () => {
  const tensors = toTensors({ a: 1, b: 2 });
  expect(Object.entries(pickOutputs(tensors, ["b", "a"]))).toEqual([
    ["b", tensors.b],
    ["a", tensors.a],
  ]);
  expect(() => pickOutputs(tensors, ["c"])).toThrow(/not found in signature: c .* in the set \{a,b\}/);
  expect(() => pickOutputs(tensors, ["toString"])).toThrow(/not found in signature: toString/);
});

describe("an answer that lacks an output which its hooks declare", () => {
  const declared = 'export const outputs = [{ name: "label", dtype: "bytes" }, { name: "score", dtype: "float32" }];';

  async function answerOf(hooks: string) {
    const file = join(tempFolder({ "hooks.mjs": `${declared}\n${hooks}` }), "hooks.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const body = '{"inputs": {"x": [1]}}';
    const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
    return [response.status, JSON.parse(await response.text())];
  }

  it.each([
    ["postprocess", 'export const postprocess = () => ({ lable: "a", score: 1 });'],
    ["process", 'export const process = () => ({ lable: "a", score: 1 });'],
  ])("is a failure of its hook %s, with the name that was meant", async (hook, hooks) => {
    const [status, { error }] = await answerOf(hooks);
    expect(status).toBe(500);
    expect(error).toMatch(
      new RegExp(
        `^The hook ${hook}.* did not return the declared output.* "label".*"lable" \\(did you mean "label"\\?\\)`,
      ),
    );
  });

  it.each([
    [
      "an output that is not declared",
      { lable: "a" },
      'returned "lable" (did you mean "label"?), which is not declared',
    ],
    ["another dtype", { score: "a" }, 'returned "score" as bytes[]; declared is float32[...]'],
  ])("is not a part, which is refused for %s", async (_, part, error) => {
    const [status, answer] = await answerOf(
      `export const process = async function* () { yield ${JSON.stringify(part)}; };`,
    );
    expect([status, answer.error]).toEqual([500, expect.stringContaining(`The hook process ${error}`)]);
  });

  it("is none where all are there, nor where they are parts of an answer", async () => {
    const whole = 'export const process = () => ({ label: "a", score: 0.5 });';
    expect((await answerOf(whole))[0]).toBe(200);
    const parts = 'export const process = async function* () { yield { label: "a" }; yield { score: 0.5 }; };';
    const file = join(tempFolder({ "hooks.mjs": `${declared}\n${parts}` }), "hooks.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const headers = { accept: "application/x-ndjson" };
    const request = { method: "POST", body: '{"inputs": {"x": [1]}}', headers };
    const text = await (await fetch(`${httpUrl}/v1/models/default:predict`, request)).text();
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([{ outputs: "a" }, { outputs: 0.5 }]);
  });

  it.each([
    ['{ lable: "a", score: 1 }', /^The hook process did not return the declared output "label", but "lable" \(did you/],
    ['{ label: "a", score: undefined }', /did not return the declared output "score", but nothing else\.$/],
    [
      '{ label: "a", score: 1, extra: 2 }',
      /^The hook process returned "extra", which is not declared; declared are label/,
    ],
    ['{ label: 7, score: "high" }', undefined],
  ])("is one in JSON by its names: %s", async (values, message) => {
    const file = join(
      tempFolder({ "hooks.mjs": `${declared}\nexport const process = () => (${values});` }),
      "hooks.mjs",
    );
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const response = await fetch(`${httpUrl}/serving-proxy`, { method: "POST", body: '{"x": 1}' });
    const answer = (await response.json()) as { error?: string };
    if (message === undefined) expect([response.status, answer]).toEqual([200, { label: 7, score: "high" }]);
    else expect([response.status, answer.error]).toEqual([500, expect.stringMatching(message)]);
  });

  it("is none in JSON where toJSON gives the outputs", async () => {
    const given = { rows: 2, toJSON: () => ({ label: "a" }) };
    const hooks = { outputs: [{ name: "label", dtype: "bytes" }], process: () => given as never } as const;
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
    const response = await fetch(`${httpUrl}/serving-proxy`, { method: "POST", body: '{"x": 1}' });
    expect([response.status, await response.json()]).toEqual([200, { label: "a" }]);
  });

  it("is one in JSON of a model behind hooks that lacks an output, and not one with others", async () => {
    const answerTo = async (body: string) => {
      const file = join(
        tempFolder({ "hooks.mjs": `${declared}\nexport const preprocess = (inputs) => inputs;` }),
        "hooks.mjs",
      );
      const echo = join(tempFolder({ "echo.mjs": ECHO }), "echo.mjs");
      const { httpUrl } = await startServer({ stages: [{ driver: echo }], hooks: file });
      return fetch(`${httpUrl}/serving-proxy`, { method: "POST", body });
    };
    expect((await answerTo('{"label": "a", "score": 1, "extra": 2}')).status).toBe(200);
    expect((await answerTo('{"label": "a"}')).status).toBe(500);
  });

  it("is what a stream has before collect, of which the whole is declared", async () => {
    const parts = "export const process = async function* () { yield { letter: 1 }; };";
    const collect = 'export const collect = () => ({ label: "a", score: 1 });';
    const file = join(tempFolder({ "hooks.mjs": `${declared}\n${parts}\n${collect}` }), "hooks.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks: file });
    const ask = async (headers: Record<string, string>) => {
      const request = { method: "POST", body: '{"inputs": {"x": [1]}}', headers };
      return (await fetch(`${httpUrl}/v1/models/default:predict`, request)).json();
    };
    expect(await ask({ accept: "application/x-ndjson" })).toEqual({ outputs: 1 });
    expect(await ask({})).toEqual({ outputs: { label: "a", score: 1 } });
  });
});

describe("declared outputs", () => {
  const outputs = [
    { name: "score", dtype: "float32", shape: [-1, 2] },
    { name: "label", dtype: "bytes" },
  ] as const;
  const right = { score: [[1, 2]], label: "a" };

  /** The status of a request to hooks with these outputs that return these values, and its error or datatypes. */
  async function answerOf(values: Values, { isModel = false, wanted = "" } = {}) {
    const given: Hooks = isModel ? { outputs, preprocess: () => values } : { outputs, postprocess: () => values };
    const driver = join(tempFolder({ "echo.mjs": ECHO }), "echo.mjs");
    const { httpUrl } = await startServer({ stages: [{ driver: isModel ? driver : "null" }], hooks: given });
    const inputs = [{ name: "x", datatype: "INT32", shape: [1], data: [1] }];
    const asked = wanted === "" ? {} : { outputs: [{ name: wanted }] };
    const body = JSON.stringify({ inputs, ...asked });
    const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body });
    const answer = JSON.parse(await response.text());
    const told = answer.outputs?.map((one: Record<string, unknown>) => `${one.name} ${one.datatype} [${one.shape}]`);
    return [response.status, answer.error ?? told.join()];
  }

  it.each([
    ["plain integers become the declared floats", right, "score FP32 [1,2],label BYTES []"],
    [
      "so do fractions",
      {
        ...right,
        score: [
          [0.1, 2.5],
          [3, 4],
        ],
      },
      "score FP32 [2,2],label BYTES []",
    ],
  ] as const)("%s", async (_, values, expected) => {
    expect(await answerOf(values)).toEqual([200, expected]);
  });

  it.each([
    [
      "a typed array of another dtype",
      { ...right, score: new Float64Array(2) },
      '"score" as float64[2]; declared is float32[-1,2]',
    ],
    [
      "a tensor of another dtype",
      { ...right, score: createTensor("int32", [1, 2], Int32Array.of(1, 2)) },
      '"score" as int32[1,2]; declared',
    ],
    ["another shape", { ...right, score: [1, 2] }, '"score" as float32[2]; declared is float32[-1,2]'],
    ["a text for numbers", { ...right, score: [["1", "2"]] }, '"score" as bytes[1,2]; declared'],
    ["a number for a text", { ...right, label: 1 }, '"label" as int32[]; declared is bytes[...]'],
    [
      "one more output",
      { ...right, more: 1 },
      '"more", which is not declared; declared are score float32[-1,2], label bytes[...]',
    ],
  ] as const)("refuse %s, with what came and what is declared", async (_, values, error) => {
    expect(await answerOf(values)).toEqual([500, expect.stringContaining(`The hook postprocess returned ${error}`)]);
  });

  it.each([
    ["an empty list has the declared shape", { ...right, score: [] }, "score FP32 [0,2],label BYTES []"],
    ["floats round whole numbers", { ...right, score: [[16777217, 1]] }, "score FP32 [1,2],label BYTES []"],
  ] as const)("take what they hold: %s", async (_, values, expected) => {
    expect(await answerOf(values)).toEqual([200, expected]);
  });

  it("leave out what only a model gives besides them", async () => {
    const typed = { score: createTensor("float32", [1, 2], Float32Array.of(1, 2)), label: "a", more: 1 };
    expect(await answerOf(typed, { isModel: true })).toEqual([200, "score FP32 [1,2],label BYTES []"]);
  });

  it("refuse what a model gives behind the last hook; a request for some outputs gets those", async () => {
    const typed = { score: createTensor("float32", [1, 2], Float32Array.of(1, 2)), label: "a" };
    expect(await answerOf(typed, { isModel: true, wanted: "label" })).toEqual([200, "label BYTES []"]);
    expect(await answerOf({ ...typed, score: 1 }, { isModel: true })).toEqual([
      ...[500, 'Model 1 returned "score" as int32[]; declared is float32[-1,2].'],
    ]);
  });
});

test.each([
  ["a scalar for one of rank 1", 5, [1], [1]],
  ["one in a list for a scalar", [5], [], []],
  ["one in a list for one of rank 2", [5], [1, 1], [1, 1]],
  ["an empty list, with every open size", [], [-1, 4, -1], [0, 4, 0]],
  ["an empty list that has no open size", [], [4], [0]],
  ["a typed array", Float32Array.of(5), [], [1]],
] as const)(
  "the shape of an output is the declared one for a plain value of one element: %s",
  (_, value, shape, own) => {
    expect(toOutput(value, { name: "y", dtype: "float32", shape })).toMatchObject({ dtype: "float32", shape: own });
  },
);

/** A driver whose model gives those of its inputs that are wanted. */
const ECHO = `export default {
  name: "echo", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    predict: async (inputs, { outputs = Object.keys(inputs) }) =>
      Object.fromEntries(outputs.map((name) => [name, inputs[name]])),
    close: async () => {},
  }),
};`;
