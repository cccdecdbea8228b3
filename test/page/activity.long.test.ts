import { describe, expect, test } from "vitest";
import { LogFilter } from "../../src/observability/log-filter.ts";
import { createOutputLogger } from "../../src/observability/logger.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const stages = [{ driver: "null" }];

describe.skipIf(lacksChromium())("what a server does, in a browser", () => {
  test("is seen in charts, in the parts of requests, and in the log", async () => {
    const log = createOutputLogger([{ write: () => {} }], new LogFilter("info"));
    const { httpUrl } = await startServer({ stages, log, allowControl: "local" });
    const page = await openPage(`${httpUrl}/ui#/activity`, { isHurried: true });
    await page.getByText("There was none since").waitFor();
    const body = JSON.stringify({ inputs: { x: [1] } });
    await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
    await page.getByText("200 default version 1").click();
    await page.getByRole("row", { name: /^model 1/ }).waitFor();
    expect(await page.locator(".charts canvas").count()).toBe(7);
    await page.getByText(/^of the process \d+ MB/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "Log" }).click();
    await fetch(`${httpUrl}/v2/repository/models/default/load`, { method: "POST" });
    await page.getByText("a client loaded the model").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("is drawn in the colors of the mode that the browser has gone over to", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, { colorScheme: "light", isHurried: true });
    await page.evaluate(`(() => {
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (...given) {
        window.color = this.fillStyle;
        return fillText.apply(this, given);
      };
    })()`);
    await page.getByRole("link", { name: "Activity" }).click();
    await expect.poll(() => page.evaluate("window.color"), { timeout: 15_000 }).toBe("#525c6b");
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => page.evaluate("window.color"), { timeout: 15_000 }).toBe("#a5aebb");
  });

  test("is not shown to viewers who may not see it", async () => {
    const { httpUrl } = await startServer({ stages });
    const page = await openPage(httpUrl, { extraHTTPHeaders: { "x-forwarded-for": "10.1.2.3" } });
    await page.getByRole("heading", { name: "default version 1 ready" }).waitFor();
    expect(await page.getByRole("link", { name: /^(?:Activity|Log)$/ }).count()).toBe(0);
  });
});
