import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const stages = [{ driver: "null" }];
const half = { path: "test/fixtures/models/half-plus-two.onnx" };

/** Hooks that answer with these values. */
function answering(values: object, outputs?: Hooks["outputs"]): Hooks {
  return {
    inputs: [{ name: "x", dtype: "int32", shape: [1] }],
    ...(outputs && { outputs }),
    process: () => values,
  } as Hooks;
}

/** Width of what does not fit into the window, in pixels. */
function excess(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth") as Promise<number>;
}

describe.skipIf(lacksChromium())("what a model answers, in a browser", () => {
  test("is a summary where it has many numbers, behind which some of them are", async () => {
    const features = Float32Array.from({ length: 8192 }, (_, index) => (index === 17 ? 3.5 : -(index % 5) / 4));
    const names = Array.from({ length: 40 }, (_, index) => `kind ${index}`);
    const values = {
      features: createTensor("float32", [1, 512, 16], features),
      kinds: createTensor("int32", [2, 40], new Int32Array(80).fill(7, 43, 44)),
      few: createTensor("float32", [3], Float32Array.of(1, 2, 3)),
    };
    const specs = Object.entries(values).map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
    const outputs = specs.map((spec) => (spec.name === "kinds" ? { ...spec, labels: names } : spec));
    const { httpUrl } = await startServer({ stages, hooks: answering(values, outputs) });
    const page = await openPage(httpUrl);
    await page.getByRole("button", { name: "Run" }).click();
    const line = page.getByText("FP32 [1, 512, 16], 8192 values from -1 to 3.5, mean -0.49");
    await line.waitFor();
    expect(await page.getByRole("region", { name: "Answer" }).locator("canvas").count()).toBe(0);
    await page.getByRole("img", { name: /^Histogram of features from -1 to 3\.5: \d+/ }).waitFor();
    const table = page.getByRole("table", { name: "features: FP32 [1, 512, 16], the first of its values" });
    expect(await table.isVisible()).toBe(false);
    await line.click();
    await page.getByText("Greatest: 3.5 at [0, 1, 1]").waitFor();
    expect(await table.isVisible()).toBe(true);
    await page.getByText("INT32 [2, 40], 80 values").click();
    await page.getByText("Greatest: 7 at [1, 3], kind 3").waitFor();
    await page.getByRole("table", { name: "few: FP32 [3]" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("is compared with what another model answers to the same inputs", async () => {
    const more: Hooks = { postprocess: ({ y }) => ({ y: [Number(y?.data[0]) + 0.25] }) };
    const text: Hooks = { inputs: [{ name: "t", dtype: "bytes", shape: [1] }], process: () => ({ y: ["a"] }) };
    const models = { half, more: { ...half, hooks: more }, text: { stages, hooks: text } };
    const page = await openPage(`${(await startServer({ models })).httpUrl}/ui#/models/half/1`);
    await page.getByText("Compare with another model or version").click();
    await page.getByRole("combobox", { name: "The other" }).selectOption("more version 1");
    await page.getByRole("button", { name: "Run both" }).click();
    const both = page.getByRole("region", { name: "Comparison" });
    await both.getByRole("row", { name: "y 0.25 at [0]" }).waitFor();
    expect(await both.getByRole("region", { name: /^Answer of (?:half|more) version 1/ }).count()).toBe(2);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("combobox", { name: "The other" }).selectOption("text version 1");
    await page.getByRole("button", { name: "Run both" }).click();
    await both.getByRole("region", { name: "Answer of text version 1" }).locator(".notice").waitFor();
  });

  test("comes from a model whose graph is drawn", async () => {
    const page = await openPage((await startServer({ models: { half } })).httpUrl);
    await page.getByText("The graph of half-plus-two.onnx").click();
    await page.getByRole("img", { name: /^Graph of [4-9] nodes/ }).waitFor();
    await page.getByText("The nodes as a table").click();
    await page.getByRole("row", { name: "x Input float32 [N]" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test.each([390, 1280])("fits the window of %i pixels", async (width) => {
    const name = "a_name_that_is_longer_than_a_phone_is_wide_and_has_no_place_to_break_it_at_all";
    const values = {
      [name]: createTensor(
        "float32",
        [1, 2000],
        Float32Array.from({ length: 2000 }, (_, index) => index),
      ),
      wide: createTensor("float64", [2, 8], new Float64Array(16).fill(-1.2345678e-300)),
      scores: createTensor("float32", [1, 2], Float32Array.of(0.25, 0.75)),
    };
    const preprocess = Array.from({ length: 6 }, () => (inputs: object) => inputs);
    const chain = { stages: Array.from({ length: 6 }, () => ({ driver: "null" })), hooks: { preprocess } as Hooks };
    const { httpUrl } = await startServer({ models: { answer: { stages, hooks: answering(values) }, chain, half } });
    const page = await openPage(`${httpUrl}/ui#/models/answer/1`, { viewport: { width, height: 800 } });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("table", { name: "scores: the highest scores" }).waitFor();
    await page.getByText("2000 values").click();
    await page.getByText("Compare with another model or version").click();
    await page.getByRole("button", { name: "Run both" }).click();
    await page.getByRole("region", { name: "Comparison" }).waitFor();
    expect(await excess(page)).toBeLessThanOrEqual(0);
    await page.getByRole("link", { name: /^half/ }).click();
    await page.getByText("The graph of half-plus-two.onnx").click();
    await page.getByRole("img", { name: /^Graph of/ }).waitFor();
    await page.getByText("The nodes as a table").click();
    expect(await excess(page)).toBeLessThanOrEqual(0);
    await page.getByRole("link", { name: /^chain/ }).click();
    await page.getByRole("heading", { name: /^chain/ }).waitFor();
    const tops = await page.evaluate(`[...document.querySelectorAll(".chain li")].map(({ offsetTop }) => offsetTop)`);
    expect(new Set(tops as number[]).size).toBe(1);
    expect(await excess(page)).toBeLessThanOrEqual(0);
  });
});
