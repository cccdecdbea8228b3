/**
 * `npm run check -- page --minutes N`: the page in Chromium for so long, beside one
 * request a second. Fails where what the browser holds grows after the first fifth of
 * the time.
 */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { createServer } from "../src/index.ts";
import { LogFilter } from "../src/observability/log-filter.ts";
import { createOutputLogger } from "../src/observability/logger.ts";

const { minutes = "0" } = parseArgs({ options: { minutes: { type: "string" } } }).values;
const MINUTES = Number(minutes);
if (!(MINUTES >= 0)) throw new Error(`--minutes is "${minutes}"; expected a number, such as 10`);
if (MINUTES === 0) process.exit();
/** Bytes that a page may gain in the rest of the time: samples of the charts, and what the engine keeps. */
const MAX_GROWTH = 3 * 1024 * 1024;
/** Seconds at one part of the page before the next. */
const STAY = 15;

/** Memory and elements that a page holds after garbage is collected. */
interface Held {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

async function heldBy(session: CDPSession): Promise<Held> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return {
    heapBytes: metric("JSHeapUsedSize"),
    nodes: metric("Nodes"),
    listeners: metric("JSEventListeners"),
  };
}

/** Goes through the parts of the page again and again, and returns to the first: what is held is compared there. */
async function visitParts(page: Page): Promise<void> {
  for (const part of ["Activity", "Log", "Models"]) {
    await page.getByRole("link", { name: part, exact: true }).click();
    await wait(STAY * 1000);
  }
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("region", { name: "Answer" }).waitFor();
}

const log = createOutputLogger([{ write: () => {} }], new LogFilter("info"));
const model = { path: "test/fixtures/models/half-plus-two.onnx" };
const server = await createServer({ models: { half: model }, http: {}, log, accessLog: true });
const browser = await chromium.launch({
  executablePath: process.env.KSERVING_TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const body = JSON.stringify({ instances: [1, 2] });
const sender = setInterval(
  () =>
    void fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body }).then((answer) => answer.text()),
  1000,
);
try {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.goto(`${server.httpUrl}/ui`);
  const started = Date.now();
  let first: Held | undefined;
  let last: Held | undefined;
  while (Date.now() - started < MINUTES * 60_000) {
    await visitParts(page);
    last = await heldBy(session);
    const passed = (Date.now() - started) / 60_000;
    if (passed > MINUTES / 5) first ??= last;
    console.log(
      `${passed.toFixed(1)} min: ${(last.heapBytes / 2 ** 20).toFixed(1)} MB, ${last.nodes} nodes, ${last.listeners} listeners`,
    );
  }
  assert.ok(first && last, "the run is too short: nothing can be compared");
  assert.ok(last.heapBytes - first.heapBytes < MAX_GROWTH, "the page's heap grows");
  assert.ok(last.nodes <= first.nodes * 1.5, "the page's nodes grow");
  assert.ok(last.listeners <= first.listeners * 1.5, "the page's listeners grow");
  console.log("the page does not grow");
} finally {
  clearInterval(sender);
  await browser.close();
  await server.close();
}
