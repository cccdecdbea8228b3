import { expect, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { fakeModel, testContext } from "../../../src/tools/testing/testing.ts";

const hooks = defineHooks({
  process: async (inputs, ctx) => {
    if (ctx.metadata.authorization === undefined) return { refused: true };
    const answer = await ctx.drivers[0]?.predict(inputs);
    return { ...answer, ...(await ctx.remote("other:9000").predict(inputs)), by: ctx.request.model };
  },
});

test("a hook is called with a context whose models, headers and servers the test chooses", async () => {
  const model = fakeModel({ outputs: [{ name: "y", dtype: "float16" }], predict: { y: [0.5] } });
  const remote = () => ({ predict: async () => ({}) });
  const metadata = { authorization: "Bearer x" };
  const ctx = await testContext({ models: [model], metadata, remote, request: { model: "faces" } });
  const result = await hooks.process({}, ctx);
  expect(result).toMatchObject({ y: { dtype: "float16" }, by: "faces" });
  expect(await hooks.process({}, await testContext())).toEqual({ refused: true });
});

test("a real model answers in a context, and what the test has not given says how to give it", async () => {
  const ctx = await testContext({ models: ["test/fixtures/models/half-plus-two.onnx"], others: { echo: fakeModel() } });
  const answer = await ctx.drivers[0]?.predict({ x: [2] });
  expect(answer?.y?.data).toEqual(Float32Array.of(3));
  expect(Object.keys(await ctx.models.get("echo").predict({ a: 1 }))).toEqual(["a"]);
  await expect(ctx.models.get("eko").predict({})).rejects.toThrow('no model "eko" among its others');
  await expect(ctx.remote("host:1").predict({})).rejects.toThrow("testContext({ remote:");
  await expect(ctx.remote("host:1").stream({}).next()).rejects.toThrow("testContext({ remote:");
  await expect(ctx.drivers[0]?.predict({ x: "text" })).rejects.toThrow('"x"');
});
