import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const PHOTO = readFileSync("examples/photos/portrait.jpg");
const HUMAN = "node_modules/@vladmandic/human";
const FILE = { name: "portrait.jpg", mimeType: "image/jpeg", buffer: PHOTO };

describe.skipIf(lacksChromium())("over the image of a request, the page draws", () => {
  test("the boxes of a published detector", { timeout: 120_000 }, async () => {
    const path = join(HUMAN, "models/centernet.json");
    expect(existsSync(path)).toBe(true);
    const { httpUrl } = await startServer({ models: { centernet: { driver: "tensorflow", path } } });
    const page = await openPage(httpUrl);
    await page.getByLabel("Image for").setInputFiles(FILE);
    await page.getByRole("button", { name: "Run" }).click();
    const boxes = page.getByRole("img", { name: /^Boxes of .*detections/ });
    await boxes.waitFor({ timeout: 60_000 });
    expect(await boxes.locator("title").allTextContents()).toContainEqual(
      expect.stringMatching(/^class \d+, 0\.\d\d$/),
    );
    const form = page.getByRole("combobox", { name: "as" });
    const placeOf = () => boxes.locator("rect").first().getAttribute("x");
    const before = await placeOf();
    await form.selectOption("y1 x1 y2 x2");
    expect(await placeOf()).not.toBe(before);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("what is said of boxes: their row, score, class, and what the next stage has found", async () => {
    const tensor = (shape: readonly number[], data: readonly number[]) =>
      createTensor("float32", shape, Float32Array.from(data));
    const hooks = {
      inputs: [{ name: "photo", dtype: "bytes", shape: [1] }],
      outputs: [
        { name: "boxes", dtype: "float32", shape: [-1, 4] },
        { name: "scores", dtype: "float32", shape: [-1] },
        { name: "emotions", dtype: "bytes", shape: [-1] },
        { name: "things", dtype: "float32", shape: [-1, 6], labels: ["cat", "dog", "cow", "owl", "ape", "bee", "elk"] },
      ],
      process: () => ({
        boxes: tensor([3, 4], [0.1, 0.1, 0.4, 0.5, 0.6, 0.2, 0.9, 0.7, 0, 0, 1, 1]),
        scores: tensor([3], [0.9, 0.8, 0.1]),
        emotions: ["happy", "calm", "sad"],
        things: tensor([1, 6], [0.2, 0.2, 0.5, 0.5, 0.75, 1]),
      }),
    } as Hooks;
    const page = await openPage(
      (await startServer({ models: { faces: { stages: [{ driver: "null" }], hooks } } })).httpUrl,
    );
    await page.getByLabel("File for photo").setInputFiles(FILE);
    await page.getByRole("button", { name: "Run" }).click();
    const faces = page.getByRole("list", { name: "What is said of the boxes of boxes" }).getByRole("listitem");
    await faces.first().waitFor();
    expect(await faces.allInnerTexts()).toEqual(["0: 0.90, happy", "1: 0.80, calm"]);
    const things = page.getByRole("list", { name: "What is said of the boxes of things" }).getByRole("listitem");
    expect(await things.allInnerTexts()).toEqual(["0: dog, 0.75"]);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("maps, and takes the photo of a camera", async () => {
    const hooks: Hooks = {
      inputs: [{ name: "photo", dtype: "bytes", shape: [1] }],
      outputs: [{ name: "heat", dtype: "float32", shape: [16, 16] }],
      process: ({ photo }) => {
        const isJpeg = photo?.dtype === "bytes" && photo.data[0]?.[0] === 0xff;
        return { heat: createTensor("float32", [16, 16], new Float32Array(256).fill(Number(isJpeg), 9)) };
      },
    };
    const { httpUrl } = await startServer({ models: { heat: { stages: [{ driver: "null" }], hooks } } });
    const page = await openPage(httpUrl, { permissions: ["camera"] });
    await page.getByRole("button", { name: "Use the camera" }).click();
    await page.getByLabel("Camera for photo").waitFor();
    await expect.poll(() => page.evaluate(`document.querySelector("video").videoWidth`)).toBeGreaterThan(0);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Take the photo" }).click();
    await page.getByText(/^camera\.jpg, /).waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("img", { name: "Map of heat" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});
