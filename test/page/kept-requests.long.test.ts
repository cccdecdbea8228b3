import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { authFiles } from "../access/auth-fixture.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const stages = [{ driver: "null" }];
const half = { path: "test/fixtures/models/half-plus-two.onnx" };
const FREE = "Inputs by name, as JSON";
const KEPT = "Last requests and examples";
const COPYING = { permissions: ["clipboard-read", "clipboard-write"] };

async function run(page: Page, values: string): Promise<void> {
  await page.getByLabel("Values").fill(values);
  await page.getByRole("button", { name: "Run" }).click();
  await page.locator(".kept li").filter({ hasText: values }).first().waitFor({ state: "attached" });
}

async function copiedLink(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Copy the link" }).click();
  await page.getByText("Copied. Files are not in it.").waitFor();
  return (await page.evaluate("navigator.clipboard.readText()")) as string;
}

const stored = (page: Page) => page.evaluate("JSON.stringify({ ...localStorage })");

describe.skipIf(lacksChromium())("the last requests to a model", () => {
  test("fill its form after a reload; examples stay, others make room for newer ones", async () => {
    const { httpUrl } = await startServer({ models: { half, other: half } });
    const page = await openPage(httpUrl);
    await run(page, "[1, 2, 3]");
    await page.getByText(KEPT).click();
    await page.getByRole("button", { name: "Keep as an example" }).click();
    for (let value = 1; value <= 11; value++) await run(page, `[${value}00]`);
    await page.reload();
    await page.getByText(KEPT).click();
    const kept = page.getByRole("listitem").filter({ hasText: "x: " });
    expect(await kept.locator("code").allInnerTexts()).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `x: [${11 - index}00]`),
      "x: [1, 2, 3]",
    ]);
    expect(await seriousFindings(page)).toEqual([]);
    await kept.last().getByRole("button", { name: "Fill in" }).click();
    expect(await page.getByLabel("Values").inputValue()).toBe("[1, 2, 3]");
    expect(await page.getByLabel("Shape").inputValue()).toBe("3");
    await kept.last().getByRole("button", { name: "Forget" }).click();
    await expect.poll(() => kept.count()).toBe(10);
    await page.getByRole("link", { name: /^other/ }).click();
    await page.getByRole("heading", { name: "other version 1 ready" }).waitFor();
    expect(await page.getByText(KEPT).count()).toBe(0);
  });

  test("are kept without secrets, and not if they are long or fail", async () => {
    const hooks: Hooks = {
      inputs: ["text", "api_key"].map((name) => ({ name, dtype: "bytes" })),
      process: () => ({ done: true }),
    };
    const { httpUrl } = await startServer({ models: { a: { stages, hooks }, free: { stages } } });
    const page = await openPage(httpUrl);
    await page.getByLabel("Text").last().fill("hunter2");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText(KEPT).waitFor();
    expect(await stored(page)).toContain("text");
    await page.getByRole("link", { name: /^free/ }).click();
    for (const inputs of ['{"password": "hunter2"}', `{"x": "${"hunter2".repeat(3000)}"}`, '{"x": [hunter2]}']) {
      await page.getByLabel(FREE).fill(inputs);
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("button", { name: "Run", disabled: false }).waitFor();
    }
    await page.getByText("This is no JSON").waitFor();
    expect(await stored(page)).not.toContain("hunter2");
  });

  test("are the tab's alone for those who have signed in", async () => {
    const { httpUrl } = await startServer({ models: { default: half }, auth: await authFiles() });
    const page = await openPage(httpUrl);
    await expect.poll(() => page.evaluate("document.activeElement.autocomplete")).toBe("username");
    await page.keyboard.type("alice");
    await page.getByLabel("Password or token").fill("open sesame");
    await page.keyboard.press("Enter");
    await run(page, "[5]");
    await page.getByText("Kept in this tab.").waitFor({ state: "attached" });
    expect(await stored(page)).toBe("{}");
    await page.reload();
    await page.getByText(KEPT).click();
    await page.getByText("x: [5]").waitFor();
  });

  test.each(["{", "[1, null, {}]", '[{"model": "half", "at": 1, "form": {"inputs": [{"name": 1}]}}]', '{"a": 1}'])(
    "are none where the browser has kept %s",
    async (text) => {
      const { httpUrl } = await startServer({ models: { half } });
      const page = await openPage(httpUrl);
      await page.evaluate(`localStorage.setItem("kserving-requests /", ${JSON.stringify(text)})`);
      await page.reload();
      await page.getByRole("button", { name: "Run" }).waitFor();
      expect(await page.getByText(KEPT).count()).toBe(0);
      await run(page, "[5]");
      await expect.poll(() => page.getByText(KEPT).count()).toBe(1);
    },
  );
});

describe.skipIf(lacksChromium())("a link to a form", () => {
  test("fills it, and sends nothing", async () => {
    const { httpUrl } = await startServer({ models: { half, free: { stages } } });
    const page = await openPage(`${httpUrl}/ui#/models/half/1`, COPYING);
    await page.getByLabel("Values").fill("[4, 5]");
    const link = await copiedLink(page);
    expect(link).toContain("/ui#/models/half/1?inputs=");
    await page.getByRole("link", { name: /^free/ }).click();
    await page.getByLabel(FREE).fill('{"grüße": [1]}');
    const free = await copiedLink(page);

    const other = await openPage("about:blank", {}, [httpUrl]);
    const sent: string[] = [];
    other.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
    await other.goto(link);
    await other.getByText("Filled in from the link; nothing has been sent yet.").waitFor();
    expect(await other.getByLabel("Values").inputValue()).toBe("[4, 5]");
    expect(await other.getByLabel("Shape").inputValue()).toBe("2");
    expect(await seriousFindings(other)).toEqual([]);
    await other.getByLabel("Values").fill("[6]");
    await expect.poll(() => other.getByText("Filled in from the link").count()).toBe(0);
    await other.evaluate(`location.href = ${JSON.stringify(free)}`);
    await other.getByText("Filled in from the link").waitFor();
    await expect.poll(() => other.getByLabel(FREE).inputValue()).toBe('{"grüße": [1]}');
    await other.goBack();
    await expect.poll(() => other.getByLabel("Values").inputValue()).toBe("[6]");
    expect(sent.filter((one) => one.startsWith("POST") || one.includes("inputs="))).toEqual([]);
  });

  test.each(["%00", "bm90IGpzb24", "e30", ""])(
    "says of inputs that are none that they cannot be read: %s",
    async (text) => {
      const { httpUrl } = await startServer({ models: { half } });
      const page = await openPage(`${httpUrl}/ui#/models/half/1?inputs=${text}`);
      await page.getByText("The inputs of the link cannot be read; the form has its own.").waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("region", { name: "Answer" }).waitFor();
    },
  );

  test("is not made of many values, or of secrets", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, COPYING);
    const ask = async (inputs: string, answer: RegExp) => {
      await page.getByLabel(FREE).fill(inputs);
      await page.getByRole("button", { name: "Copy the link" }).click();
      await page.getByText(answer).waitFor();
      expect(await page.getByLabel("Link to this form").count()).toBe(0);
    };
    await ask(`{"x": [${new Array(5000).fill(1)}]}`, /^The link would have \d+ characters; expected up to 8000/);
    await ask('{"token": "hunter2"}', /^A name says that an input is secret/);
  });
});
