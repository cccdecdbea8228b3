import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { echoDriver } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage } from "./browser.ts";

const stages = [{ driver: "null" }];
const PHOTO = "examples/photos/page.png";

/** A model that gives back its inputs. */
function echo(...inputs: readonly object[]) {
  const driver = `${tempFolder()}/echo.ts`;
  writeFileSync(driver, echoDriver(inputs));
  return { stages: [{ driver }] };
}

function floats(shape: readonly number[], data: readonly number[]) {
  return { dtype: "float32", shape, data: Float32Array.from(data) };
}

/** A model that answers an image with these outputs. */
function answering(outputs: Hooks["outputs"], values: object): { stages: typeof stages; hooks: Hooks } {
  const hooks = { inputs: [{ name: "image", dtype: "bytes", shape: [1] }], outputs, process: () => values };
  return { stages, hooks: hooks as Hooks };
}

async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("region", { name: "Answer" }).waitFor();
}

describe.skipIf(lacksChromium())("the form and the answer of a model", () => {
  test("take inputs with names that every object has", async () => {
    const names = ["constructor", "__proto__", "toString"];
    const model = echo(...names.map((name) => ({ name, dtype: "int64", shape: [1] })));
    const page = await openPage((await startServer({ models: { model } })).httpUrl);
    await page.getByLabel("Values").first().fill("[9223372036854775807]");
    await run(page);
    await page.getByRole("cell", { name: "9223372036854775807" }).waitFor();
  });

  test("send a file in the shape of its input", async () => {
    const models = {
      none: echo({ name: "f", dtype: "bytes", shape: [] }),
      two: echo({ name: "f", dtype: "bytes", shape: [-1, 1] }),
    };
    const { httpUrl } = await startServer({ models });
    for (const [model, shape] of [
      ["none", "[]"],
      ["two", "[1, 1]"],
    ]) {
      const page = await openPage(`${httpUrl}/ui#/models/${model}/1`);
      await page.getByLabel("File for f").setInputFiles({ name: "f.bin", mimeType: "", buffer: Buffer.of(1, 255) });
      await run(page);
      await page.getByText(`f: BYTES ${shape}`).waitFor();
    }
  });

  test("say that a file cannot be read", async () => {
    const { httpUrl } = await startServer({ models: { model: answering([], {}) } });
    const page = await openPage(httpUrl);
    await page.evaluate('File.prototype.arrayBuffer = () => Promise.reject(new DOMException("", "NotFoundError"))');
    await page.getByLabel("File for image").setInputFiles(PHOTO);
    await page.getByText("The browser cannot read page.png").waitFor();
  });

  test("show scores that are no numbers, and boxes that have no sides, are turned or lie on each other", async () => {
    const box = [0, 0, 0.5, 0.5, 1, 0];
    const model = answering(
      [
        { name: "kind", dtype: "float32", shape: [1, 5], labels: ["<script>", "b", "c", "d", "e"] },
        { name: "boxes", dtype: "float32", shape: [4, 6] },
      ],
      {
        kind: floats([1, 5], [Number.NaN, Number.POSITIVE_INFINITY, 0.5, Number.NEGATIVE_INFINITY, 0]),
        boxes: floats([4, 6], [...box, ...box, Number.NaN, 0, 1, 1, 1, 1, 0.5, 0.5, 0.2, 0.2, 1, 1]),
      },
    );
    const page = await openPage((await startServer({ models: { model } })).httpUrl);
    await page.getByLabel("File for image").setInputFiles(PHOTO);
    await run(page);
    const scores = page.getByRole("table", { name: "kind: the highest scores" });
    expect((await scores.getByRole("row").allInnerTexts()).map((row) => row.split(/\s+/)[0])).toEqual([
      ...["b", "c", "e", "<script>", "d"],
    ]);
    expect(await page.getByRole("img", { name: /^Boxes of/ }).count()).toBe(1);
    await page.getByRole("combobox", { name: /^as/ }).selectOption("x1 y1 x2 y2");
    await page.getByRole("img", { name: "Boxes of boxes: 2" }).waitFor();
  });

  test("are there with what was written when the page comes back to them", async () => {
    const models = { a: echo({ name: "n", dtype: "int32", shape: [1] }), free: { stages } };
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${httpUrl}/ui#/models/a/1`);
    await page.getByLabel("Values").fill("[42]");
    await page.getByRole("link", { name: /^free/ }).click();
    await page.getByLabel("Inputs by name, as JSON").fill('{"kept": [1]}');
    await page.getByRole("link", { name: "API" }).click();
    await page.getByRole("heading", { name: "KServe V2" }).waitFor();
    await page.goBack();
    expect(await page.getByLabel("Inputs by name, as JSON").inputValue()).toBe('{"kept": [1]}');
    await page.goBack();
    expect(await page.getByLabel("Values").inputValue()).toBe("[42]");
  });

  test("are not drawn again while the page asks for the models", async () => {
    const hooks = { inputs: [{ name: "image", dtype: "bytes" }], process: ({ image }) => ({ copy: image }) } as Hooks;
    const { httpUrl } = await startServer({ models: { model: { stages, hooks } } });
    const page = await openPage(httpUrl, { isHurried: true });
    await page.getByLabel("File for image").setInputFiles(PHOTO);
    await run(page);
    const copy = page.getByRole("img", { name: "Output copy" });
    const url = await copy.getAttribute("src");
    for (let times = 0; times < 2; times++) await page.waitForResponse(/\/ui\/models$/);
    expect(await copy.getAttribute("src")).toBe(url);
  });
});
