import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { echoDriver } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const stages = [{ driver: "null" }];
const PHOTO = readFileSync("examples/photos/page.png");

/** A driver whose model gives back the image that it gets. */
const PIXELS = echoDriver([{ name: "pixels", dtype: "uint8", shape: [1, -1, -1, 3] }]);

const LOADED = `document.querySelector('img[alt="Output copy"]').naturalWidth > 0`;

/** Drops a file on the element. */
async function drop(page: Page, selector: string, bytes: Uint8Array): Promise<void> {
  const data = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(${JSON.stringify([...bytes])})], "page.png", { type: "image/png" }));
    return data;
  })()`);
  await page.dispatchEvent(selector, "drop", { dataTransfer: data });
}

/** Copies the picture, as a screenshot is copied, and presses the keys that paste. */
async function paste(page: Page): Promise<void> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(`(async () => {
    const picture = new Blob([Uint8Array.from(${JSON.stringify([...PHOTO])})], { type: "image/png" });
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
  })()`);
  await page.keyboard.press("Control+V");
}

describe.skipIf(lacksChromium())("the form of a model", () => {
  test("begins with values that run, and says what is wrong with others", async () => {
    const model = { stages: [{ driver: "onnx", path: "test/fixtures/models/matmul-dynamic-batch.onnx" }] };
    const { httpUrl } = await startServer({ models: { matmul: model } });
    const page = await openPage(httpUrl);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    expect(await page.getByText("a guess").count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel("Values").fill("[[1, 2, 3, 4, 5, 6, 7]]");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Run" }).press("Enter");
    await page
      .getByText(/expected|must be|shape/i)
      .filter({ hasText: "7" })
      .last()
      .waitFor();
    expect(await page.getByRole("region", { name: "Answer" }).count()).toBe(0);
    await page.getByLabel("Values").fill("[[1, 2], [3]]");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("The rows differ: [1] is [1], [0] is [2].").waitFor();
    await page.getByLabel("Values").fill("[1, 2, 3, 4, 5, 6]");
    expect(await page.getByLabel("Shape").inputValue()).toBe("2, 3");
    await page.getByLabel("Shape").fill("2,x");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('"2,x" is no shape; expected whole numbers with commas').waitFor();
  });

  test("takes a dropped image, and shows labels with bars, and an image", async () => {
    const hooks: Hooks = {
      inputs: [{ name: "photo", dtype: "bytes" }],
      outputs: [
        { name: "kind", dtype: "float32", shape: [1, 3], labels: ["cat", "dog", "page"] },
        { name: "copy", dtype: "bytes", shape: [1] },
      ],
      process: (given) => {
        const photo = given.photo as Tensor<"bytes">;
        return { kind: [[0.1, 0.2, photo.data[0]?.length ?? 0]], copy: photo };
      },
    };
    const { httpUrl } = await startServer({ models: { labels: { stages, hooks } } });
    const page = await openPage(httpUrl);
    await page.getByText("These values are a guess: they have not been run.").waitFor();
    await drop(page, ".drop", PHOTO);
    expect(await page.getByText("a guess").count()).toBe(0);
    await page.getByRole("img", { name: "photo: page.png" }).waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    const best = page.getByRole("table", { name: "kind: the highest scores" }).getByRole("row").first();
    expect((await best.innerText()).split(/\s+/)).toEqual(["page", String(PHOTO.length)]);
    const copy = page.getByRole("img", { name: "Output copy" });
    await copy.waitFor();
    await expect.poll(() => page.evaluate(LOADED)).toBe(true);
    await page.getByText("The same request as a program").click();
    await page.getByLabel("Language").selectOption("Python");
    await page.getByText(`open("page.png", "rb")`).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("takes a chosen image for an input of pixels, and any inputs as JSON", async () => {
    const driver = `${tempFolder()}/pixels.ts`;
    writeFileSync(driver, PIXELS);
    const models = { pixels: { stages: [{ driver }] }, any: { stages } };
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${httpUrl}/ui#/models/pixels/1`);
    await page.getByLabel("Image for pixels").setInputFiles({ name: "page.png", mimeType: "image/png", buffer: PHOTO });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("img", { name: "Output pixels" }).waitFor();
    await page.getByRole("link", { name: /^any/ }).click();
    await page.getByLabel("Inputs by name, as JSON").fill('{"greeting": "hello"}');
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("cell", { name: "hello" }).waitFor();
  });

  test("sends a file as base64 text to a model that decodes it itself", async () => {
    const given: string[] = [];
    // As TensorFlow's DecodeBase64 fails.
    const postprocess = ({ image }: Record<string, Tensor>) => {
      const text = Buffer.from((image as Tensor<"bytes">).data[0] as Uint8Array).toString("latin1");
      given.push(text);
      if (/[^\w-]/.test(text)) throw new Error("Invalid character found in base64.");
      return { length: Buffer.from(text, "base64url").length };
    };
    const hooks: Hooks = { inputs: [{ name: "image", dtype: "bytes", shape: [-1] }], postprocess };
    const page = await openPage((await startServer({ stages, hooks })).httpUrl);
    await page.getByLabel("File for image").setInputFiles("examples/photos/page.png");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    expect(given.at(-1)).toBe(PHOTO.toString("base64url"));
    expect(await page.getByLabel("as base64 text").isChecked()).toBe(true);
  });

  test("takes a pasted image: the input where the keyboard is, else the first for images", async () => {
    const hooks: Hooks = {
      inputs: ["note", "photo", "image"].map((name) => ({ name, dtype: "bytes" })),
      process: () => ({ done: true }),
    };
    const { httpUrl } = await startServer({ models: { albums: { stages, hooks } } });
    const page = await openPage(httpUrl);
    await page.getByLabel("File for photo").waitFor();
    await paste(page);
    await page.getByRole("img", { name: "photo: image.png" }).waitFor();
    await page.getByLabel("File for image").focus();
    await paste(page);
    await page.getByRole("img", { name: "image: image.png" }).waitFor();
    await page.getByLabel("File for note").focus();
    await paste(page);
    await page.getByRole("img", { name: "note: image.png" }).waitFor();
  });

  test("leaves pasted text to the field with the keyboard", async () => {
    const hooks: Hooks = { inputs: [{ name: "photo", dtype: "bytes" }], process: () => ({ done: true }) };
    const { httpUrl } = await startServer({ models: { texts: { stages, hooks } } });
    const page = await openPage(httpUrl);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const field = page.getByRole("textbox", { name: "Text" });
    await field.fill("");
    await page.evaluate(`navigator.clipboard.writeText("copied")`);
    await field.press("Control+V");
    expect(await field.inputValue()).toBe("copied");
  });

  test("shows the parts of an answer as they come, until it is stopped", async () => {
    let [begun, over] = [0, 0];
    const hooks: Hooks = {
      inputs: [{ name: "parts", dtype: "int32", shape: [1] }],
      async *process({ parts }) {
        begun++;
        try {
          for (let part = 1; part <= Number(parts?.data[0]); part++) {
            yield { text: `word ${part} `, picture: PHOTO, score: part / 2 };
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          if (Number(parts?.data[0]) === 2) throw new Error("there is no third");
        } finally {
          over++;
        }
      },
    };
    const page = await openPage((await startServer({ models: { teller: { stages, hooks } } })).httpUrl);
    const ask = async (parts: number) => {
      await page.getByLabel("Values").fill(`[${parts}]`);
      await page.getByRole("button", { name: "Run" }).click();
    };
    await ask(3);
    await page.getByText("3 parts in").waitFor();
    await page.getByText("word 1 word 2 word 3").waitFor();
    await page.getByRole("img", { name: "Output picture, part 3" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await ask(1_000_000);
    await page.getByRole("img", { name: "Output picture, part" }).first().waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("in the browser, stopped").waitFor();
    await expect.poll(() => [begun, over]).toEqual([2, 2]);
    await ask(2);
    await page.getByText("there is no third").waitFor();
    await page.getByText("word 1 word 2").waitFor();
  });
});
