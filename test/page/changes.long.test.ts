import { copyFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage } from "./browser.ts";

const stages = [{ driver: "null" }];
const FREE = "Inputs by name, as JSON";
const REFUSAL = { status: 401, headers: { "www-authenticate": "Bearer" }, body: '{"error": "The token has expired."}' };

const HURRIED = { isHurried: true };

/** Waits for the next two answers to the page's question for the models. */
async function hearTwice(page: Page): Promise<void> {
  for (let times = 0; times < 2; times++) await page.waitForResponse(/\/ui\/models$/);
}

describe.skipIf(lacksChromium())("an open page", () => {
  test("goes on to show a model that is unloaded, and says of another that it is not served", async () => {
    const models = { a: { stages }, b: { stages } };
    const { httpUrl } = await startServer({ models, allowControl: "local" });
    const page = await openPage(`${httpUrl}/ui`, HURRIED);
    await page.getByRole("button", { name: "Unload" }).click();
    await page.getByText("a is unloaded.").waitFor();
    await hearTwice(page);
    expect(await page.locator("h2").innerText()).toBe("a version 1 not loaded");
    await page.goto(`${httpUrl}/ui#/models/b/2`);
    await page.getByText("Version 2 of b is not served. Choose another.").waitFor();
    await page.goto(`${httpUrl}/ui#/models/b`);
    await page.getByRole("heading", { name: "b version 1 ready" }).waitFor();
  });

  test("has an example of the inputs that a model has when it is loaded again", async () => {
    const path = `${tempFolder()}/model.onnx`;
    copyFileSync("test/fixtures/models/half-plus-two.onnx", path);
    const { httpUrl } = await startServer({ stages: [{ driver: "onnx", path }], allowControl: "local" });
    const page = await openPage(`${httpUrl}/ui`, HURRIED);
    const shape = page.getByLabel("Shape");
    await expect.poll(() => shape.inputValue()).toBe("1");
    copyFileSync("test/fixtures/models/matmul-dynamic-batch.onnx", path);
    await page.getByRole("button", { name: "Reload" }).click();
    await expect.poll(() => shape.inputValue(), { timeout: 10_000 }).toMatch(/^1, \d+$/);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
  });

  test("controls the server that has been started in place of the one it came from", async () => {
    const options = { models: { a: { stages } }, allowControl: "local" } as const;
    const first = await createServer({ ...options, http: {} });
    const page = await openPage(`${first.httpUrl}/ui`, HURRIED);
    await page.getByLabel(FREE).fill('{"kept": [1]}');
    await first.close();
    await page.getByText("The server does not answer").waitFor();
    await startServer({ ...options, http: { port: Number(new URL(`${first.httpUrl}`).port) } });
    await hearTwice(page);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("a is reloaded.").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("kept: INT64 [1]").waitFor();
  });

  test("keeps what was written while it asks for another token", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, HURRIED);
    await page.getByLabel(FREE).fill('{"kept": [1]}');
    await page.route(/\/ui\/models$/, (route: Route) => route.fulfill(REFUSAL));
    await page.getByLabel("Token").fill("a token");
    expect(await page.getByLabel(FREE).isVisible()).toBe(false);
    await page.unroute(/\/ui\/models$/);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel(FREE).waitFor();
    expect(await page.getByLabel(FREE).inputValue()).toBe('{"kept": [1]}');
  });

  test("says of a server that leaves its questions open that it does not answer", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, HURRIED);
    await page.getByRole("button", { name: "Run" }).waitFor();
    await page.route(/\/ui\/models$/, () => {});
    await page.getByText("The server does not answer").waitFor({ timeout: 20_000 });
    await page.unroute(/\/ui\/models$/);
    await expect.poll(() => page.locator(".notice").count(), { timeout: 20_000 }).toBe(0);
  });

  test("asks nothing while it is hidden, also after a button has asked", async () => {
    const { httpUrl } = await startServer({ stages, allowControl: "local" });
    const page = await openPage(httpUrl, HURRIED);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("default is reloaded.").waitFor();
    await hearTwice(page);
    await page.evaluate('Object.defineProperty(document, "hidden", { get: () => true })');
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    // Several times as long as it waits between two questions.
    await sleep(1000);
    expect(asked).toEqual([]);
  });

  test("says that it is not of the server's version", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, HURRIED);
    await page.getByText(/^version \d+\.\d/).waitFor();
    await page.route(/\/ui\/models$/, async (route: Route) => {
      const state = await (await route.fetch()).json();
      await route.fulfill({ json: { ...state, version: "99.0.0" } });
    });
    await page.getByText("and the server now of 99.0.0: load the page again.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
  });

  test("stays where a file is dropped next to the place for it", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, HURRIED);
    await page.getByRole("button", { name: "Run" }).waitFor();
    const prevented = await page.evaluate(`["dragover", "drop"].map((type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["x"], "x.png"));
      return !document.querySelector("h2").dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    })`);
    expect(prevented).toEqual([true, true]);
  });

  test("sends a request whose answer is lost once", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, HURRIED);
    let sent = 0;
    await page.route(/\/infer$/, (route: Route) => {
      sent++;
      return route.abort("connectionreset");
    });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Failed to fetch").waitFor();
    expect(sent).toBe(1);
  });

  test("stays at its part when the keyboard skips to the content", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(`${httpUrl}/docs`, HURRIED);
    await page.getByRole("heading", { name: "KServe V2" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("#main");
    await sleep(100);
    expect(await page.getByRole("heading", { name: "KServe V2" }).count()).toBe(1);
  });
});
