import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";
import { CHROMIUM } from "../helpers/chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Prints why tests in a browser are skipped; in CI, where nothing may be skipped, it throws. */
export function lacksChromium(): boolean {
  if (existsSync(CHROMIUM)) return false;
  const reason = `tests in a browser are skipped: there is no ${CHROMIUM} (apt install chromium-headless-shell, or KSERVING_TEST_CHROMIUM)\n`;
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return true;
}

/** A camera that shows a moving pattern. */
const CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** Choices for {@link openPage}. */
interface PageOptions extends BrowserContextOptions {
  /** True where the page's waits of a second and more take less. Default false. */
  readonly isHurried?: boolean;
}

/** It asks its server every few seconds, and gives an answer up after some more. */
const HURRY = `{
  const { setTimeout: wait } = window;
  window.setTimeout = (call, ms, ...given) => wait(call, ms < 1000 ? ms : ms / 10, ...given);
  const { timeout } = AbortSignal;
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 3);
}`;

/**
 * A page in a browser of its own user; the test fails if it logs an error, or asks a server for anything but its own
 * and `others`.
 */
export async function openPage(
  url: string,
  { isHurried = false, ...options }: PageOptions = {},
  others: readonly string[] = [],
): Promise<Page> {
  // Chromium's sandbox does not work for root.
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", ...CAMERA] });
  const context = await (await browser).newContext(options);
  const page = await context.newPage();
  if (isHurried) await page.addInitScript(HURRY);
  const wrong: string[] = [];
  page.on("pageerror", ({ message }) => wrong.push(message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|blocked by CORS policy/.test(message.text()))
      wrong.push(message.text());
  });
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (!/^(?:blob|data):/.test(request.url()) && origin !== new URL(url).origin && !others.includes(origin))
      wrong.push(`asked ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(wrong).toEqual([]);
  });
  await page.goto(url);
  return page;
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { html: string }[];
  }[];
}

/** Findings of axe-core that are serious, or worse. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  return (await violations(page)).filter((finding) => /^(?:serious|critical) /.test(finding));
}

/** All findings of axe-core, with their weight before them. */
export async function violations(page: Page): Promise<readonly string[]> {
  // By the debugger, which the page's policy does not concern.
  if (await page.evaluate("!globalThis.axe")) await page.evaluate(AXE);
  const results = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as AxeResults;
  return results.violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}
