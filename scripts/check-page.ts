/**
 * `npm run check -- page --minutes N`: the page in Chromium for so long, beside five
 * requests a second, with new inputs and a new conversation each time round. Fails where
 * what the browser holds grows after the first fifth of the time.
 */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { defineHooks } from "../src/hooks/hooks.ts";
import { createServer } from "../src/index.ts";
import { LogFilter } from "../src/observability/log-filter.ts";
import { createOutputLogger } from "../src/observability/logger.ts";
import { CHROMIUM } from "../test/helpers/chromium.ts";

const { minutes = "0" } = parseArgs({ options: { minutes: { type: "string" } } }).values;
const MINUTES = Number(minutes);
if (!(MINUTES >= 0)) throw new Error(`--minutes is "${minutes}"; expected a number, such as 10`);
if (MINUTES === 0) {
  console.log("What the page holds over time is looked at with --minutes N, such as 10.");
  process.exit();
}
/** Bytes that a page may gain in the rest of the time: samples of the charts, and what the engine keeps. */
const MAX_GROWTH = 3 * 1024 * 1024;
/** Seconds at one part of the page before the next. */
const STAY = 4;
/** Milliseconds between requests, each of which is a row of the page and a line of its log. */
const REQUEST_MS = 200;

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
async function visitParts(page: Page, round: number): Promise<void> {
  const part = (name: string | RegExp) => page.getByRole("link", { name }).click();
  for (const name of ["Activity", "Log"]) {
    await part(name);
    await wait(STAY * 1000);
  }
  await part("Models");
  await part(/^talk/);
  await page.getByRole("textbox", { name: /^Message/ }).fill(`message ${round}`);
  await page.keyboard.press("Enter");
  await page.getByText(`You said message ${round}.`).waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await part(/^half/);
  await page.getByLabel("Values").fill(`[${round + 0.5}, 0]`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("cell", { name: String(round / 2 + 2.25), exact: true }).waitFor();
  await wait(STAY * 1000);
}

/** Says again what it was told. */
const talk = defineHooks({ chat: ({ messages }) => `You said ${messages.at(-1)?.text}.` });
const log = createOutputLogger([{ write: () => {} }], new LogFilter("info"));
const models = {
  half: { path: "test/fixtures/models/half-plus-two.onnx" },
  talk: { stages: [{ driver: "null" }], hooks: talk },
};
const server = await createServer({ models, http: {}, log, accessLog: true });
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox"],
});
const body = JSON.stringify({ instances: [1, 2] });
const sender = setInterval(
  () =>
    void fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body }).then((answer) => answer.text()),
  REQUEST_MS,
);
try {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.goto(`${server.httpUrl}/ui`);
  const started = Date.now();
  let first: Held | undefined;
  let last: Held | undefined;
  for (let round = 1; Date.now() - started < MINUTES * 60_000; round++) {
    await visitParts(page, round);
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
