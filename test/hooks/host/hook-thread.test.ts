import { describe, expect, test } from "vitest";
import type { Payload } from "../../../src/pipeline/payload.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { run } from "../../helpers/run-pipeline.ts";
import { ask, startHookThreads, startReloadable } from "../../helpers/start-hook-threads.ts";

const json = (text: string): Payload => ({ kind: "json", json: Buffer.from(text) });
const tensors = (): Payload => ({ kind: "tensors", tensors: toTensors({ x: 1 }) });
const hook = (body: string) => `
  import { renameSync } from "node:fs";
  export async function preprocess(inputs: any, ctx: any) { ${body} }`;

/** The code and message of the error that a hook with this body leads to. */
const fail = async (body: string, payload: Payload, options = {}) => {
  const servable = await startHookThreads(hook(body), options);
  const error = await run(servable, payload).catch((reason) => reason);
  return { code: error.code, message: error.message };
};

describe("a hook's mistake is never the client's, and names the hook:", () => {
  test.each([
    [
      "a dimension that no frame holds",
      "return { x: { dtype: 'float32', shape: [2 ** 31, 0], data: new Float32Array(0) } };",
      "The hook preprocess gave the model what it does not take: x has a dimension of 2147483648; expected less than 2^31.",
    ],
    [
      "a rank that no frame holds",
      "return { x: { dtype: 'float32', shape: Array(300).fill(1), data: new Float32Array(1) } };",
      "The hook preprocess gave the model what it does not take: x has rank 300; expected 254 at most.",
    ],
    [
      "a signature that the model does not have",
      "return ctx.drivers[0].predict({ x: 1 }, { signature: 'nope' });",
      'A hook gave the model what it does not take: Serving signature key "nope" not found. The model has serving_default.',
    ],
    [
      "outputs that are no names",
      "return ctx.drivers[0].predict({ x: 1 }, { outputs: 5 });",
      "A hook gave the model what it does not take: outputs is a number; expected an array of output names.",
    ],
    [
      "a signature that is no name",
      "return ctx.drivers[0].predict({ x: 1 }, { signature: 5 });",
      "A hook gave the model what it does not take: signature is a number; expected a signature's name.",
    ],
    [
      "response metadata that are no texts",
      "ctx.response.metadata.count = 5; return { x: 1 };",
      'A hook set ctx.response.metadata["count"] to a number; expected a text; convert it with String().',
    ],
    [
      "a predict without values",
      "return ctx.drivers[0].predict();",
      "A hook gave the model what it does not take: The values are undefined; expected an object of values by name.",
    ],
    [
      "an integer that no dtype holds",
      "return { x: [1n, 2n ** 70n] };",
      "The hook preprocess gave the model what it does not take: x[1] is 1180591620717411303424, but the integers in x fit",
    ],
    [
      "a number that would become infinite",
      "return { x: [[1e300]] };",
      "The hook preprocess gave the model what it does not take: x[0][0] is 1e+300, which float32 would make infinite",
    ],
    [
      "a data member that is a plain list",
      "return { x: { dtype: 'float32', shape: [2], data: [1, 2] } };",
      "The hook preprocess gave the model what it does not take: A float32 tensor's data is a Array; expected a Float32Array.",
    ],
  ])("%s", async (_, body, message) => {
    expect(await fail(body, tensors())).toEqual({ code: "internal", message: expect.stringContaining(message) });
  });

  test.each([
    ["postprocess", "export const postprocess = () => ({ x: 2n ** 70n });", "The hook postprocess returned"],
    ["process", "export const process = () => ({ x: [[1], [2, 3]] });", "The hook process returned"],
  ])("what %s returns", async (_, source, message) => {
    const servable = await startHookThreads(source);
    await expect(run(servable, tensors())).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining(`${message} what cannot be sent: x`),
    });
  });
});

describe("over PredictJSON, what a hook returns is refused where JSON would keep nothing of it:", () => {
  test.each([
    [
      "a forgotten await",
      "return { out: [(async () => 1)()] };",
      "out\\[0\\] is a promise, .* Was an await forgotten\\?",
    ],
    ["a Map", "return { out: new Map([[1, 2]]) };", "out is a Map"],
    ["an object that contains itself", "const out: any = {}; out.out = out; return out;", "The value contains itself"],
  ])("%s", async (_, body, message) => {
    expect(await fail(body, json("{}"))).toEqual({
      code: "internal",
      message: expect.stringMatching(`^The hook preprocess returned what cannot be sent: ${message}`),
    });
  });

  test("a Date goes as its ISO 8601 text", async () => {
    const servable = await startHookThreads(hook("return { at: new Date(0) };"));
    const { outputs } = await run(servable, json("{}"));
    expect(outputs.kind === "json" && Buffer.from(outputs.json).toString()).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });
});

test.each([
  '{"x":{"dtype":"bytes","shape":[0,3],"data":[]}}',
  '{"dtype":"bytes","shape":[0],"data":[]}',
  '{"x":[{"dtype":"bytes","shape":[60000,60000,0],"data":[ ]}]}',
  '{"x":{"dtype":"float32","shape":[2],"data":[1,2]}}',
  '{"x":{"dtype":"float32","shape":[0],"data":[]}}',
])("a client's JSON passes hooks and an echo as it is, though it looks like a tensor: %s", async (text) => {
  const servable = await startHookThreads(hook("return inputs;"));
  const { outputs } = await run(servable, json(text));
  expect(outputs.kind === "json" && Buffer.from(outputs.json).toString()).toBe(text.replace("[ ]", "[]"));
});

test("a stack shows the hook file where it lies, not what was compiled of it", async () => {
  const { servable, file } = await startReloadable(hook("\n\n  return { stack: new Error().stack };"));
  expect((await ask(servable, { x: 1 })).stack).toContain(`${file}:5:`);
});

describe("what a hook throws reaches the client", () => {
  test.each([
    ["an object without a text", "throw Object.create(null);"],
    ["an object whose text throws", `throw { toString() { throw new Error("nested"); } };`],
    ["an error whose stack is a bigint", `throw Object.assign(new Error("x"), { stack: 1n });`],
  ])("with the hook's name, even %s", async (_, body) => {
    expect(await fail(body, json("{}"))).toEqual({
      code: "internal",
      message: expect.stringContaining("The hook preprocess failed: "),
    });
  });

  test.each([
    ["a file's error that names two", `renameSync("/srv/secret/a", "/srv/secret/b");`],
    ["a path without an ending", `throw new Error("cannot read /srv/secret/labels now");`],
    ["a path with a space in it", `throw new Error("cannot read /srv/my secret/labels.txt now");`],
  ])("without a path of the server: %s", async (_, body) => {
    const { code, message } = await fail(body, json("{}"));
    expect([code, message]).toEqual(["internal", expect.not.stringMatching(/secret|srv/)]);
  });

  test("at the cost of its length, although clients choose the text", async () => {
    const started = performance.now();
    const text = JSON.stringify({ x: "/a".repeat(100_000) });
    const { code } = await fail(`throw new Error("unknown label " + inputs.x);`, json(text));
    expect([code, performance.now() - started < 5000]).toEqual(["internal", true]);
  });
});
