import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { defineHooks, type Hooks } from "../../src/hooks/hooks.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { tellingDriver } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage, violations } from "./browser.ts";

const half = { path: "test/fixtures/models/half-plus-two.onnx" };

/** Boxes in a photo, what the next stage says of them, and more numbers than people read. */
const photos: Hooks = {
  inputs: [{ name: "photo", dtype: "bytes", shape: [1] }],
  outputs: [
    { name: "boxes", dtype: "float32", shape: [-1, 4] },
    { name: "scores", dtype: "float32", shape: [-1] },
    { name: "emotions", dtype: "bytes", shape: [-1] },
    { name: "features", dtype: "float32", shape: [1, 32, 64] },
  ],
  process: () => ({
    boxes: createTensor("float32", [2, 4], Float32Array.of(0.1, 0.1, 0.4, 0.5, 0.6, 0.2, 0.9, 0.7)),
    scores: createTensor("float32", [2], Float32Array.of(0.9, 0.8)),
    emotions: ["happy", "calm"],
    features: createTensor(
      "float32",
      [1, 32, 64],
      Float32Array.from({ length: 2048 }, (_, at) => Math.sin(at)),
    ),
  }),
};
const [A_LONG_NAME, CITY] = ["a_name_that_is_longer_than_a_phone_is_wide_of_a_column", "city"];
const COLUMNS = [
  { name: "age", dtype: "float64", shape: [-1] },
  { name: CITY, dtype: "bytes", shape: [-1], categories: ["Paris", "Rome"] },
  { name: "rooms", dtype: "float64", shape: [-1], categories: [3, 4, 5] },
  { name: A_LONG_NAME, dtype: "bool", shape: [-1] },
];
const [LONG_WORD, CODE] = ["w".repeat(120), "```js\nconst a = 1;\n```"];
const talk = defineHooks({
  async *chat({ messages }) {
    yield { reasoning: "It asks for little." };
    yield* ["You said ", messages.at(-1)?.text ?? "", `\n\n${LONG_WORD}\n\n${CODE}`];
  },
});
const vectors = defineHooks({
  embed: ({ texts }) => ({ embeddings: texts.map((text) => [..."cat"].map((c) => text.split(c).length)) }),
});
const ranks = defineHooks({
  rerank: ({ query, documents }) => documents.map((text) => (text.includes(query) ? 1 : -text.length / 100)),
});
/** Adds a little to what half adds to a half. */
const other = defineHooks({
  postprocess: ({ y }) => ({ y: [Number(y?.data[0]) + 0.25] }),
});

/** A model of each kind for which the page has a form of its own. */
function modelsOfKinds() {
  const table = `${tempFolder()}/table.ts`;
  writeFileSync(table, tellingDriver({ isTabular: true, suggestedInputs: COLUMNS }));
  const of = (hooks: Hooks) => ({ stages: [{ driver: "null" }], hooks });
  return {
    homes: { stages: [{ driver: table }] },
    ...{ photos: of(photos), talk: of(talk), vectors: of(vectors), ranks: of(ranks), half },
    other: { stages: [half], hooks: other },
  };
}

/** For people to look at; CI keeps it, and git ignores it. */
const SCREENSHOTS = ".cache/page";

/** Takes screenshots and findings of a page, part by part. */
function looker(page: Page, before: string) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const findings: Record<string, readonly string[]> = {};
  const look = async (part: string) => {
    const fits = await page.evaluate("document.documentElement.scrollWidth <= innerWidth");
    findings[part] = [...(await violations(page)), ...(fits ? [] : ["wider than the window"])];
    await page.screenshot({ path: `${SCREENSHOTS}/${before}-${part.replaceAll(" ", "-")}.png`, fullPage: true });
  };
  return { findings, look };
}

const WINDOWS = [
  ["light", 1280],
  ["dark", 390],
] as const;

describe.skipIf(lacksChromium())("a form of the page for each kind of model, by axe-core", () => {
  test.each(WINDOWS)("has no finding, and a screenshot: %s, %i pixels wide", async (colorScheme, width) => {
    const { httpUrl } = await startServer({ models: modelsOfKinds() });
    const page = await openPage(httpUrl, { colorScheme, viewport: { width, height: 800 } });
    const { findings, look } = looker(page, `${colorScheme}-${width}`);
    const open = (name: string) => page.getByRole("link", { name: new RegExp(`^${name}`) }).click();
    const run = async () => {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("region", { name: "Answer" }).waitFor();
    };

    await open("homes");
    await page.getByRole("combobox", { name: /^city/ }).selectOption("Rome");
    await page.getByRole("button", { name: "Add a row" }).click();
    await page.getByText("Paste rows").click();
    await run();
    await look("a table");
    await open("photos");
    const buffer = readFileSync("examples/photos/portrait.jpg");
    await page.getByLabel("File for photo").setInputFiles({ name: "portrait.jpg", mimeType: "image/jpeg", buffer });
    await run();
    const said = page.getByRole("list", { name: "What is said of the boxes of boxes" });
    await said.getByRole("listitem").first().waitFor();
    await look("a photo and many numbers");
    await open("talk");
    await page.getByRole("textbox", { name: /^Message/ }).fill("hello");
    await page.keyboard.press("Enter");
    await page.getByText("const a = 1;").waitFor();
    await page.getByText("Thoughts").click();
    await page.getByText("Instructions and tools").click();
    await look("a model that talks");
    await open("vectors");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("rowheader").first().waitFor();
    await look("vectors of texts");
    await open("ranks");
    await page.getByRole("button", { name: "Sort" }).click();
    await page.getByRole("table", { name: "The texts, the best first" }).waitFor();
    await look("texts in their order");
    await open("half");
    await page.getByText("Compare with another model or version").click();
    await page.getByRole("combobox", { name: "The other" }).selectOption("other version 1");
    await page.getByRole("button", { name: "Run both" }).click();
    await page.getByRole("region", { name: "Comparison" }).waitFor();
    await look("two models side by side");
    expect(findings).toEqual(Object.fromEntries(Object.keys(findings).map((name) => [name, []])));
  });
});
