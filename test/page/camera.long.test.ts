import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { inferRequest, readOutputs } from "../../src/page/form-tensor.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { echoDriver } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const CAMERA = { permissions: ["camera"] };
const PHOTO = readFileSync("examples/photos/page.png");
const NAME_IN_FIELD = `document.querySelector('input[type="file"]').files[0]?.name`;
const HAS_PICTURE = "document.querySelector('video').videoWidth > 0";

/** Hooks that count the photos that they get, and how many of them at a time; a text is answered by -1 once it may. */
function counter(fails = (_: number) => false, mayAnswerTexts = Promise.resolve()) {
  const seen = { photos: 0, open: 0, most: 0 };
  const hooks: Hooks = {
    inputs: [{ name: "photo", dtype: "bytes", shape: [1] }],
    process: async ({ photo }) => {
      const isJpeg = photo?.dtype === "bytes" && photo.data[0]?.[0] === 0xff;
      if (!isJpeg) {
        await mayAnswerTexts;
        return { count: [-1] };
      }
      seen.photos++;
      seen.most = Math.max(seen.most, ++seen.open);
      await new Promise(setImmediate);
      seen.open--;
      if (fails(seen.photos)) throw new Error("too dark");
      return { count: [seen.photos] };
    },
  };
  return { seen, model: { stages: [{ driver: "null" }], hooks } };
}

describe.skipIf(lacksChromium())("a photo", () => {
  test("of the camera, the clipboard or another file is named by the field for files, and none once it is gone", async () => {
    const phone = { ...CAMERA, viewport: { width: 390, height: 800 } };
    const page = await openPage((await startServer({ models: { m: counter().model } })).httpUrl, phone);
    const field = page.getByLabel("File for photo");
    await field.setInputFiles("examples/photos/page.png");
    await page.getByText(/^page\.png, /).waitFor();
    await page.getByRole("button", { name: "Use the camera" }).click();
    await expect.poll(() => page.evaluate(HAS_PICTURE)).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.getByRole("button", { name: "Take the photo" }).click();
    await page.getByText(/^camera\.jpg, /).waitFor();
    expect(await page.evaluate(NAME_IN_FIELD)).toBe("camera.jpg");
    await page.getByRole("link", { name: "API" }).click();
    await page.getByRole("heading", { name: "KServe V2" }).waitFor();
    await page.goBack();
    await page.getByText(/^camera\.jpg, /).waitFor();
    await expect.poll(() => page.evaluate(NAME_IN_FIELD)).toBe("camera.jpg");
    await page.getByRole("button", { name: "Without the file" }).click();
    await expect.poll(() => page.evaluate(NAME_IN_FIELD)).toBeUndefined();
  });

  test("is let go of once another is in its place, and once the page shows it no more", async () => {
    const page = await openPage((await startServer({ models: { m: counter().model } })).httpUrl, CAMERA);
    await page.evaluate(`
      window.urls = new Set();
      const { createObjectURL, revokeObjectURL } = URL;
      URL.createObjectURL = (blob) => {
        const url = createObjectURL(blob);
        window.urls.add(url);
        return url;
      };
      URL.revokeObjectURL = (url) => {
        window.urls.delete(url);
        revokeObjectURL(url);
      };`);
    const count = () => page.evaluate("window.urls.size");
    const field = page.getByLabel("File for photo");
    for (const name of ["a.png", "b.png", "c.png"]) {
      await field.setInputFiles({ name, mimeType: "image/png", buffer: PHOTO });
      await page.getByRole("img", { name: `photo: ${name}` }).waitFor();
    }
    await expect.poll(count).toBe(1);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    await page.getByRole("button", { name: "Without the file" }).click();
    await expect.poll(count).toBe(0);
  });

  test("in colour is made grey for a model of one channel, as the server makes it", async () => {
    const driver = `${tempFolder()}/grey.ts`;
    writeFileSync(driver, echoDriver([{ name: "pixels", dtype: "uint8", shape: [1, -1, -1, 1] }]));
    const options = { color_format: "GRAY" };
    const models = { grey: { stages: [{ driver }] }, own: { stages: [{ driver, options }] } };
    const { httpUrl } = await startServer({ models });
    const asked = await fetch(
      `${httpUrl}/v2/models/own/versions/1/infer`,
      inferRequest([{ name: "pixels", datatype: "BYTES", shape: [1], values: [PHOTO] }]),
    );
    const read = (body: ArrayBuffer, length: string | null | undefined) => readOutputs(body, length ?? null)[0];
    const expected = read(await asked.arrayBuffer(), asked.headers.get("inference-header-content-length"));

    const page = await openPage(`${httpUrl}/ui#/models/grey/1`);
    const answers: { readonly status: number; readonly body: Promise<Buffer>; readonly length?: string | undefined }[] =
      [];
    page.on("response", (response) => {
      if (!response.url().endsWith("/infer")) return;
      const length = response.headers()["inference-header-content-length"];
      answers.push({ status: response.status(), body: response.body(), length });
    });
    await page.getByLabel("Image for pixels").setInputFiles({ name: "page.png", mimeType: "image/png", buffer: PHOTO });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    await page.getByText(/^page\.grey\.png, .*, made grey for a model of one channel$/).waitFor();
    expect(answers.map(({ status }) => status)).toEqual([400, 200]);
    const [, second] = answers;
    const body = Uint8Array.from((await second?.body) ?? []).buffer;
    const given = read(body, second?.length);
    expect(given?.shape).toEqual(expected?.shape);
    expect(given?.values.length).toBeGreaterThan(1000);
    const differs = (value: unknown, at: number) => Math.abs(Number(value) - Number(expected?.values[at])) > 1;
    expect(given?.values.filter(differs)).toEqual([]);
    expect(await page.evaluate(NAME_IN_FIELD)).toBe("page.grey.png");
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save the grey image" }).click();
    expect((await saved).suggestedFilename()).toBe("page.grey.png");
    await page.getByLabel("Image for pixels").setInputFiles({ name: "b.png", mimeType: "image/png", buffer: PHOTO });
    await page.getByText(/^b\.grey\.png, /).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe.skipIf(lacksChromium())("live frames of a camera", () => {
  test("are sent one after the other, until the page is hidden", async () => {
    const { seen, model } = counter();
    const page = await openPage((await startServer({ models: { m: model } })).httpUrl, CAMERA);
    await page.getByRole("button", { name: "Use the camera" }).click();
    const live = page.getByRole("button", { name: "Live" });
    await live.click();
    await expect.poll(() => seen.photos).toBeGreaterThan(5);
    expect(seen.most).toBe(1);
    expect(await live.getAttribute("aria-pressed")).toBe("true");
    expect(await page.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
    await page.evaluate(`
      Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));`);
    await expect.poll(() => live.getAttribute("aria-pressed")).toBe("false");
    // Texts, behind the last frame.
    for (let times = 0; times < 2; times++) {
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("button", { name: "Run", disabled: false }).waitFor();
    }
    const sent = seen.photos;
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Run", disabled: false }).waitFor();
    expect(seen.photos).toBe(sent);
    await page.getByRole("button", { name: "Close the camera" }).click();
    expect(await page.locator("video").count()).toBe(0);
  });

  test("keep their answer where one to an earlier request comes late", async () => {
    const held = createDeferred<void>();
    const { seen, model } = counter(undefined, held.promise);
    const page = await openPage((await startServer({ models: { m: model } })).httpUrl, CAMERA);
    await page.getByRole("button", { name: "Use the camera" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Running …" }).waitFor();
    const live = page.getByRole("button", { name: "Live" });
    await live.click();
    await expect.poll(() => seen.photos).toBeGreaterThan(2);
    await live.click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.waitFor();
    held.resolve();
    await page.getByRole("button", { name: "Run", exact: true }).waitFor();
    expect(await answer.innerText()).not.toContain("-1");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await answer.getByText("-1").first().waitFor();
  });

  test("end with the first that fails, and go on when a person wants it", async () => {
    const { seen, model } = counter((photos) => photos === 3);
    const page = await openPage((await startServer({ models: { m: model } })).httpUrl, CAMERA);
    await page.getByRole("button", { name: "Use the camera" }).click();
    const live = page.getByRole("button", { name: "Live" });
    await live.click();
    await page.getByText("too dark").waitFor();
    await expect.poll(() => live.getAttribute("aria-pressed")).toBe("false");
    expect(seen.photos).toBe(3);
    await live.click();
    await expect.poll(() => seen.photos).toBeGreaterThan(5);
    await live.click();
    expect(await live.getAttribute("aria-pressed")).toBe("false");
    await page.getByRole("region", { name: "Answer" }).waitFor();
  });

  test("end with a message where the browser cannot make a picture of one, and go on when a person wants it", async () => {
    const { seen, model } = counter();
    const page = await openPage((await startServer({ models: { m: model } })).httpUrl, CAMERA);
    await page.getByRole("button", { name: "Use the camera" }).click();
    await page.evaluate(`
      const { toBlob } = HTMLCanvasElement.prototype;
      HTMLCanvasElement.prototype.toBlob = function () {
        HTMLCanvasElement.prototype.toBlob = toBlob;
        throw new Error("Out of memory.");
      };`);
    const live = page.getByRole("button", { name: "Live" });
    await live.click();
    const alert = page.getByRole("alert");
    await alert.getByText(/^Live has ended, .*Out of memory\. Start it again/).waitFor();
    expect(await live.getAttribute("aria-pressed")).toBe("false");
    await live.click();
    await expect.poll(() => seen.photos).toBeGreaterThan(2);
    expect(await alert.count()).toBe(0);
  });
});
