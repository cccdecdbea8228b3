import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { fakeModel, testHooks } from "../../../src/tools/testing/testing.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const X = [{ name: "x", dtype: "float32", shape: [-1] }] as const;
const HALF_PLUS_TWO = "test/fixtures/models/half-plus-two.onnx";

const scale = defineHooks({
  inputs: X,
  outputs: [{ name: "y", dtype: "int64" }],
  options: { factor: { type: "number", default: 2, help: "Factor." } },
  init_hook: ({ factor }) => ({ factor: Number(factor) }),
  preprocess: [
    ({ x }, ctx) => {
      ctx.rows = x.data.length;
      return { x: x.data.map((value) => value * ctx.global_ctx.factor) };
    },
    null,
  ],
  postprocess: [null, ({ sum }, _ctx) => ({ y: createSum(sum?.data[0]) })],
});

function createSum(value: unknown): bigint {
  return BigInt(Math.round(Number(value)));
}

function numbersOf(tensor: Tensor | undefined): unknown[] {
  return [...(tensor as Tensor).data];
}

test("hooks run around fake models, of which one computes and one answers what it was told", async () => {
  const half = fakeModel({ inputs: X, predict: ({ x }) => ({ x: x.data.map((value) => value / 2) }) });
  const sum = fakeModel({ outputs: [{ name: "sum", dtype: "float64" }], predict: { sum: [41.6] } });
  const pipeline = testHooks(scale, { models: [half, sum], options: { factor: "3" } });
  const { outputs, ctx } = await pipeline.run({ x: [1, 2] });
  expect([outputs.y.dtype, [...outputs.y.data], ctx.rows]).toEqual(["int64", [42n], 2]);
  expect([half.calls.length, numbersOf(half.calls[0]?.x)]).toEqual([1, [3, 6]]);
  expect(numbersOf(sum.calls[0]?.x)).toEqual([1.5, 3]);
  await pipeline.close();
});

test("a real model is named by its path, and concurrent runs have a context each", async () => {
  await using pipeline = testHooks(
    { preprocess: (inputs, ctx) => Object.assign(ctx, { seen: ctx.metadata.who }) && inputs },
    { models: [HALF_PLUS_TWO] },
  );
  const runs = ["ann", "bob"].map((who, index) => pipeline.run({ x: [index + 0.5] }, { metadata: { who } }));
  const seen = (await Promise.all(runs)).map(({ outputs, ctx }) => [numbersOf(outputs.y), ctx.seen]);
  expect(seen).toEqual([
    [[2.25], "ann"],
    [[2.75], "bob"],
  ]);
});

test("hooks reach the other models of the test, and what they send besides is in the context", async () => {
  const process = async (inputs: object, ctx: Parameters<NonNullable<typeof scale.postprocess>[1]>[1]) => {
    ctx.response.metadata["x-mood"] = "calm";
    return ctx.models.get("emotion").predict({ ...inputs });
  };
  const emotion = fakeModel({ predict: { mood: "calm" } });
  const { outputs, ctx } = await testHooks({ process }, { others: { emotion } }).run({ x: 1 });
  expect([Object.keys(outputs), ctx.response.metadata]).toEqual([["mood"], { "x-mood": "calm" }]);
});

test("errors are those that clients get", async () => {
  const pipeline = testHooks(scale, { models: [fakeModel({ inputs: X }), fakeModel()] });
  await expect(pipeline.run({ x: ["a"] })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(testHooks(scale).run({ x: [1] })).rejects.toThrow("preprocess has 2 slots, but there is 1 model");
  const wrong = testHooks({ preprocess: () => ({ x: "text" }) }, { models: [fakeModel({ inputs: X })] });
  await expect(wrong.run({})).rejects.toThrow(/preprocess.*bytes/);
  await expect(testHooks(scale, { models: ["nowhere.onnx", fakeModel()] }).run({ x: [1] })).rejects.toThrow("nowhere");
  await expect(testHooks("nowhere.ts").run({})).rejects.toThrow("nowhere.ts");
});

test("hooks without a function for requests have no context", async () => {
  const { ctx: _, ...rest } = Object.getOwnPropertyDescriptors(await testHooks({ init_hook: () => 1 }).run({ x: 1 }));
  expect(Object.keys(rest)).toEqual(["outputs"]);
  const run = await testHooks({ init_hook: () => 1 }).run({ x: 1 });
  expect(() => run.ctx).toThrow("No hook has run");
});

test("a test of a hook file ends by itself, though nothing is closed", { timeout: 30_000 }, async () => {
  const hooks = `import { defineHooks } from "kserving";
export default defineHooks({ preprocess: (inputs: object, ctx) => { ctx.photo = true; return inputs as never; } });`;
  const folder = tempFolder({ "hooks.ts": hooks });
  const program = `
    import { testHooks } from ${JSON.stringify(resolve("dist/tools/testing/testing.js"))};
    const hooks = new URL("file://${folder}/hooks.ts");
    const { outputs, ctx } = await testHooks(hooks, { models: [${JSON.stringify(resolve(HALF_PLUS_TWO))}] }).run({ x: [1.5] });
    console.log(outputs.y.data[0], ctx.photo);`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
  expect([stdout, stderr]).toEqual(["2.75 true\n", ""]);
});
