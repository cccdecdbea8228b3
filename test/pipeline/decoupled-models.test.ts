import { describe, expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { isNotOneAnswer } from "../../src/one-answer.ts";
import type { JsonPayload } from "../../src/pipeline/payload.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { loadServable, type ServableSource } from "../../src/serving/repository/load-servable.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { CollectedParts, runParts } from "../helpers/collect-parts.ts";
import { loadOptions } from "../helpers/load-options.ts";
import { repeatDriver, repeated } from "../helpers/repeat-driver.ts";
import { loadPipeline, plain, run } from "../helpers/run-pipeline.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const one = (value: number) => createTensor("int32", [1], Int32Array.of(value));
const stages = (...drivers: string[]) => drivers.map((driver) => ({ driver }));

/** All parts of a request, and its end. */
async function partsOf(servable: Servable, inputs: Tensors) {
  const sink = new CollectedParts();
  const end = await runParts(servable, inputs, sink).catch((reason) => reason);
  return { parts: sink.parts, end };
}

describe("a model that answers in parts, without hooks", () => {
  test("makes its version one, whose parts are its own", async () => {
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()) });
    expect(servable.description.decoupled).toBe(true);
    const { parts, end } = await partsOf(servable, repeated([3, 1, 2]));
    expect(parts).toEqual([{ y: [3] }, { y: [1] }, { y: [2] }]);
    expect(end).toMatchObject({ parts: 3, outputs: { tensors: {} } });
    await servable.close();
  });

  test("answers JSON with JSON, part by part", async () => {
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()) });
    const json = (text: string) => ({ kind: "json", json: Buffer.from(text) }) as const;
    const sink = new CollectedParts();
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const request = { signature: { name: "", spec: undefined }, parts: sink, call };
    const end = await servable.run({ ...request, inputs: json('{"x": [5, 6]}') });
    expect([sink.parts, end.parts]).toEqual([[{ y: [5] }, { y: [6] }], 2]);
    const { outputs } = await run(servable, json('{"x": [7]}'));
    expect(Buffer.from((outputs as JsonPayload).json).toString()).toBe('{"y":[7]}');
    await servable.close();
  });

  test("gives the only part where one answer is wanted, and nothing else", async () => {
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()) });
    const ask = (inputs: Tensors) => run(servable, { kind: "tensors", tensors: inputs });
    const { outputs, parts } = await ask(repeated([4]));
    expect([outputs, parts]).toEqual([{ kind: "tensors", tensors: { y: one(4) } }, undefined]);
    for (const values of [[], [1, 2]])
      expect(isNotOneAnswer(await ask(repeated(values)).catch((reason) => reason))).toBe(true);
    await servable.close();
  });

  test("feeds the models behind it once per part, in order, also those that answer in parts", async () => {
    const folder = tempFolder({
      "twice.mjs": `
        const specs = [{ name: "y", dtype: "int32", shape: [1] }];
        export default {
          name: "twice", options: {}, pathless: true,
          load: async () => ({
            signatures: { serving_default: { inputs: specs, outputs: specs } },
            async *predictStream({ y }) {
              yield { y };
              yield { y: { ...y, data: Int32Array.of(y.data[0] + 100) } };
            },
            close: async () => {},
          }),
        };`,
    });
    const drivers = stages(repeatDriver(), "null", `${folder}/twice.mjs`);
    const { servable } = await loadPipeline({ stages: drivers });
    expect((await partsOf(servable, repeated([1, 2]))).parts.map(({ y }) => y)).toEqual([[1], [101], [2], [102]]);
    await servable.close();
  });

  test("has each part counted once while it is sent, and what is made of it besides", async () => {
    const beyondParts = async (source: Partial<ServableSource>) => {
      const { servable } = await loadPipeline(source);
      const memory = new MemoryBudget(1e9).open();
      const beyond: number[] = [];
      const sink = new CollectedParts(() => beyond.push(memory.beyondPart(100)));
      await runParts(servable, repeated([1, 2]), sink, { memory });
      await servable.close();
      return beyond;
    };
    const hooks: Hooks = { postprocess: ({ y }) => ({ y: y as never }) };
    const before: Hooks = { preprocess: (inputs) => inputs };
    expect(await beyondParts({ stages: stages(repeatDriver()) })).toEqual([96, 96]);
    expect(await beyondParts({ stages: stages(repeatDriver()), hooks: before })).toEqual([96, 96]);
    expect(await beyondParts({ stages: stages(repeatDriver(), "null") })).toEqual([100, 100]);
    expect(await beyondParts({ stages: stages(repeatDriver()), hooks })).toEqual([100, 100]);
  });

  test("is ended by its client, and by the end of its version", async () => {
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()) });
    const left = new ServingError("cancelled", "left");
    const leaving = new CollectedParts((count) => count === 3 && Promise.reject(left));
    await expect(runParts(servable, repeated([], "endless"), leaving)).rejects.toThrow("left");
    expect(leaving.parts).toHaveLength(3);
    const ended = runParts(servable, repeated([], "endless"), new CollectedParts()).catch((reason) => reason);
    await servable.close();
    expect(await ended).toMatchObject({ code: "unavailable", message: expect.stringMatching(/^The model was closed/) });
  });

  test("stands with its parts before a failure", async () => {
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()) });
    const { parts, end } = await partsOf(servable, repeated([1, 2, 3, 4], "throw"));
    expect(parts).toEqual([{ y: [1] }, { y: [2] }, { y: [3] }]);
    expect(end).toMatchObject({
      code: "internal",
      message: expect.stringContaining("The repeat model failed: broken"),
    });
    await servable.close();
  });

  test("is warmed up with the first part of an answer that never ends", async () => {
    const path = `${tempFolder({ act: Buffer.concat([Buffer.of(7, 0, 0, 0), Buffer.from("endless")]) })}/act`;
    const inputs = [
      { name: "x", dtype: "int32", shape: [1], rows: 1, values: "zero" },
      { name: "act", dtype: "bytes", shape: [1], rows: 1, values: { path } },
    ] as const;
    const warmUp = [{ kind: "sample", name: "w", count: 1, inputs }] as const;
    const { servable } = await loadPipeline({ stages: stages(repeatDriver()), warmUp });
    expect((await partsOf(servable, repeated([1]))).parts).toEqual([{ y: [1] }]);
    await servable.close();
  });
});

const PLAIN = `
export const preprocess = ({ x, act }) => ({ x: x.data.map((value) => value * 10), act });
export const postprocess = ({ y }, ctx) => ({ y, number: Int32Array.of(ctx.part) });
export const collect = (parts) => ({ all: parts.map(({ y }) => y.data[0]) });
`;
const numbered = [1, 2, 3].map((number) => ({ y: [number * 10], number: [number] }));

describe.each([
  ["in a hook thread", 1],
  ["in the main thread", 0],
])("hooks around such a model, %s,", (_, workers) => {
  const load = async (text: string, drivers = [repeatDriver()]) => {
    const hooks = `${tempFolder({ "hooks.mjs": text })}/hooks.mjs`;
    const source = { name: "default", version: 1n, stages: stages(...drivers), hooks, options: {} };
    return (await loadServable(source, { ...loadOptions(), workers })).servable;
  };

  test("run once per part behind it, and answer in parts", async () => {
    const servable = await load(PLAIN);
    expect(servable.description.decoupled).toBe(true);
    expect((await partsOf(servable, repeated([1, 2, 3]))).parts).toEqual(numbered);
    await servable.close();
  });

  test("join the parts where one answer is wanted", async () => {
    const servable = await load(PLAIN);
    const { outputs } = await run(servable, { kind: "tensors", tensors: repeated([1, 2]) });
    expect(plain((outputs as { tensors: Tensors }).tensors)).toEqual({ all: [10, 20] });
    await servable.close();
  });

  test("may be generators behind it, and skip it", async () => {
    const servable = await load(`
      export const preprocess = ({ x, act }) =>
        x.data[0] === 0 ? { "ml-serving-ignore": true, y: Int32Array.of(99) } : { x, act };
      export function* postprocess({ y }) {
        yield { y };
        yield { y: Int32Array.of(-(y.data ?? y)[0]) };
      }`);
    expect((await partsOf(servable, repeated([1, 2]))).parts.map(({ y }) => y)).toEqual([[1], [-1], [2], [-2]]);
    expect((await partsOf(servable, repeated([0]))).parts.map(({ y }) => y)).toEqual([[99], [-99]]);
    await servable.close();
  });

  test("answer once if a process does, which may read the parts", async () => {
    const servable = await load(`
      export async function process({ x, act }, ctx) {
        let sum = 0;
        for await (const { y } of ctx.drivers[0].stream({ x, act })) {
          sum += y.data[0];
          if (sum > 5) break;
        }
        const streams = ctx.drivers[0].args.streams;
        while ((await streams.open()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        return { sum: Int32Array.of(sum) };
      }`);
    expect(servable.description.decoupled).toBeUndefined();
    const ask = async (inputs: Tensors) => {
      const { outputs } = await run(servable, { kind: "tensors", tensors: inputs });
      return plain((outputs as { tensors: Tensors }).tensors);
    };
    expect(await ask(repeated([1, 2]))).toEqual({ sum: [3] });
    expect(await ask(repeated([], "endless"))).toEqual({ sum: [6] });
    expect(await ask(repeated([]))).toEqual({ sum: [0] });
    await servable.close();
  });

  test("leave nothing behind if they do not read to the end", async () => {
    const servable = await load(`
      export async function process({ x, act }, ctx) {
        const { streams } = ctx.drivers[0].args;
        if (x.data[0] === 0) {
          while ((await streams.open()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
          return { open: Int32Array.of(await streams.open()) };
        }
        const parts = ctx.drivers[0].stream({ x, act })[Symbol.asyncIterator]();
        const { value } = await parts.next();
        return { ...value, open: Int32Array.of(await streams.open()) };
      }`);
    const ask = async (values: number[], act = "") => {
      const { outputs } = await run(servable, { kind: "tensors", tensors: repeated(values, act) });
      return plain((outputs as { tensors: Tensors }).tensors);
    };
    expect(await ask([7, 8], "wait")).toEqual({ y: [7], open: [1] });
    expect(await ask([0])).toEqual({ open: [0] });
    await servable.close();
  });

  test("cannot read on once their request has ended", async () => {
    const servable = await load(`
      const former = [];
      export async function process({ x, act }, ctx) {
        const { streams } = ctx.drivers[0].args;
        if (former.length === 0) {
          former.push(ctx);
          return { open: Int32Array.of(await streams.open()) };
        }
        const parts = former[0].drivers[0].stream({ x, act })[Symbol.asyncIterator]();
        const { message } = await parts.next().then(() => ({ message: "a part" }), (reason) => reason);
        while ((await streams.open()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        return { message };
      }`);
    const ask = async () => {
      const { outputs } = await run(servable, { kind: "tensors", tensors: repeated([], "endless") });
      return plain((outputs as { tensors: Tensors }).tensors);
    };
    expect(await ask()).toEqual({ open: [0] });
    expect(JSON.stringify(await ask())).toContain("A hook has left the parts of the model");
    await servable.close();
  });

  test("get its failure, and the parts of a model that answers once as one", async () => {
    const servable = await load(
      `
      export async function* process({ x, act }, ctx) {
        for await (const part of ctx.drivers[1].stream({ x })) yield part;
        for await (const part of ctx.drivers[0].stream({ x, act })) yield part;
      }`,
      [repeatDriver(), "null"],
    );
    const { parts, end } = await partsOf(servable, repeated([1, 2, 3, 4], "throw"));
    expect(parts).toEqual([{ x: [1, 2, 3, 4] }, { y: [1] }, { y: [2] }, { y: [3] }]);
    expect(end).toMatchObject({
      code: "internal",
      message: expect.stringContaining("The repeat model failed: broken"),
    });
    await servable.close();
  });

  test("are told to call stream where predict gives no single part", async () => {
    const servable = await load("export const process = ({ x, act }, ctx) => ctx.drivers[0].predict({ x, act });");
    const ask = (values: number[]) => run(servable, { kind: "tensors", tensors: repeated(values) });
    expect((await ask([5])).outputs).toMatchObject({ tensors: { y: one(5) } });
    const message = expect.stringContaining("answers in parts and did not give exactly one: call stream");
    await expect(ask([1, 2])).rejects.toMatchObject({ code: "internal", message });
    await servable.close();
  });
});

test("a hook that is wrong behind such a model is blamed by its name, and ends the model's run", async () => {
  const hooks: Hooks = {
    postprocess: ({ y }) => {
      if (y?.data[0] === 2) throw new Error("no twos");
      return { y: y as never };
    },
  };
  const { servable } = await loadPipeline({ stages: stages(repeatDriver()), hooks });
  const { parts, end } = await partsOf(servable, repeated([1, 2, 3], "wait"));
  expect(parts).toEqual([{ y: [1] }]);
  expect(end).toMatchObject({ code: "internal", message: "The hook postprocess failed: no twos" });
  await servable.close();
});
