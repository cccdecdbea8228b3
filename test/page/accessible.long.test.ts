import { mkdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { LogFilter } from "../../src/observability/log-filter.ts";
import { createOutputLogger } from "../../src/observability/logger.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, violations } from "./browser.ts";

const models = {
  half: { path: "test/fixtures/models/half-plus-two.onnx" },
  gone: { path: "/no/such.onnx" },
};

/** For people to look at; CI keeps it, and git ignores it. */
const SCREENSHOTS = ".cache/page";
/** No color of the page depends on its width, nor any place on the colors. */
const LOOKS = [
  ["light", 1280],
  ["dark", 390],
] as const;

describe.skipIf(lacksChromium())("every part of the page, by axe-core", () => {
  test("has no finding, and a screenshot: light and dark, on a desk and on a phone", async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    const log = createOutputLogger([{ write: () => {} }], new LogFilter("info"));
    const { httpUrl } = await startServer({ models, log, allowControl: "local", accessLog: true });
    const page = await openPage(httpUrl, { isHurried: true });
    const findings: Record<string, readonly string[]> = {};
    const look = async (part: string) => {
      for (const [colorScheme, width] of LOOKS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        // Charts take their width a frame later.
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
        const fits = await page.evaluate("document.documentElement.scrollWidth <= innerWidth");
        const name = `${colorScheme}-${width}-${part.replaceAll(" ", "-")}`;
        findings[name] = [...(await violations(page)), ...(fits ? [] : ["wider than the window"])];
        await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    };
    const part = (name: string | RegExp) => page.getByRole("link", { name }).click();

    await part(/^gone/);
    await page.getByText("does not exist").waitFor();
    await look("a model that cannot be served");
    await part(/^half/);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Answer" }).waitFor();
    await look("a form with its answer");
    await page.getByText("The graph of half-plus-two.onnx").click();
    await page.getByRole("img", { name: /^Graph of/ }).waitFor();
    await look("the graph of a model");
    await page.getByLabel("Values").fill("[[1], [2, 3]]");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("The rows differ").waitFor();
    await look("a form with an error");
    await part("Activity");
    // Only requests from now on are kept.
    await page.getByText("There was none since").waitFor();
    await fetch(`${httpUrl}/v1/models/half:predict`, { method: "POST", body: '{"instances": [1]}' });
    await page.getByText("200 half version 1").click();
    await page.getByRole("row", { name: /^model 1/ }).waitFor();
    await look("the parts of a request");
    await part("Log");
    await page.getByText(/half/).first().waitFor();
    await look("the log");
    await page.goto(`${httpUrl}/docs`);
    await page.getByText("Run the model half", { exact: true }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 /).waitFor();
    await look("the API with an answer");
    expect(findings).toEqual(Object.fromEntries(Object.keys(findings).map((name) => [name, []])));
  });
});
