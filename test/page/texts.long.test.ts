import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "playwright-core";
import { describe, expect, test, vi } from "vitest";
import { defineHooks, type Hooks } from "../../src/hooks/hooks.ts";
import { startServer } from "../helpers/start-server.ts";
import { lacksChromium, openPage, violations } from "./browser.ts";

const RED_DOT = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

/** Answers without an end that have one. */
const ended: string[] = [];

/** Says again what it was told; calls a tool for the word weather, and goes on and on for the word forever. */
const talk = defineHooks({
  async *chat({ messages, tools }, { signal }) {
    const last = messages.at(-1);
    const pictures = last?.content.filter(({ type }) => type === "image").length ?? 0;
    if (last?.role === "tool") yield `It is ${last.text}.`;
    else if (last?.text.includes("weather")) {
      yield { reasoning: `I have ${tools?.length} tools.` };
      yield { toolCalls: [{ name: "weather", arguments: { place: "Oslo" } }] };
    } else if (last?.text.includes("forever")) {
      try {
        while (!signal.aborted) {
          yield "on and ";
          // The page takes so many characters of an answer, and no more.
          await wait(10);
        }
      } finally {
        ended.push("forever");
      }
    } else if (last?.text.includes("fail")) throw new Error("no answer");
    else yield* [`You said ${last?.text}`, ` with ${pictures} pictures`, `, after ${messages.length - 1}.`];
  },
});
/** The number of each letter of cat. */
const vectors = defineHooks({
  embed: ({ texts }) => ({ embeddings: texts.map((text) => [..."cat"].map((c) => text.split(c).length - 1)) }),
});
const ranks = defineHooks({
  rerank: ({ query, documents }) => documents.map((text) => (text.includes(query) ? 1 : -text.length / 100)),
});

const of = (hooks: Hooks) => ({ stages: [{ driver: "null" }], hooks });

async function send(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: /^Message/ }).fill(text);
  await page.keyboard.press("Enter");
}

describe.skipIf(lacksChromium())("models of texts, in a browser", () => {
  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("have a conversation, likeness and an order: %s, %i pixels wide", async (colorScheme, width) => {
    const models = { talk: of(talk), vectors: of(vectors), ranks: of(ranks), plain: { stages: [{ driver: "null" }] } };
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${httpUrl}/ui#/models/talk`, { colorScheme, viewport: { width, height: 800 } });
    const log = page.getByRole("log", { name: "Messages" });
    const look = async (name: string) => {
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      await page.screenshot({ path: `.cache/page/${colorScheme}-${width}-${name}.png`, fullPage: true });
    };

    await page.getByLabel("Pictures").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: RED_DOT });
    await send(page, "hello");
    await log.getByText("You said hello with 1 pictures, after 0.").waitFor();
    expect(await log.getByRole("img").count()).toBe(1);
    await send(page, "again");
    await log.getByText("You said again with 0 pictures, after 2.").waitFor();

    await page.getByText("Instructions and tools").click();
    await page.getByLabel(/^Tools/).fill("{}");
    await send(page, "How is the weather?");
    await page.getByRole("alert").getByText("Tools are no list").waitFor();
    await page.getByLabel(/^Tools/).fill('[{"name": "weather", "parameters": {"type": "object"}}]');
    await page.getByLabel(/^Instructions/).fill("Be short.");
    await page.getByRole("button", { name: "Send" }).click();
    await log.getByText('{"place":"Oslo"}').waitFor();
    await log.getByText("Thoughts").click();
    await log.getByText("I have 1 tools.").waitFor();
    await page.getByLabel("What weather gives").fill("snowing");
    await page.getByRole("button", { name: "Send" }).click();
    await log.getByText("It is snowing.").waitFor();

    await send(page, "forever");
    await log.getByText("on and on and").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await log.getByText("Stopped.").waitFor();
    await vi.waitFor(() => expect(ended.splice(0)).toEqual(["forever"]));
    await send(page, "fail");
    await log.locator(".notice.bad").waitFor();
    await send(page, "more");
    // The instructions, and five messages of each side: without the one that failed.
    await log.getByText("You said more with 0 pictures, after 11.").waitFor();
    await look("a-conversation");
    await page.getByRole("button", { name: "New conversation" }).click();
    expect(await log.getByText("hello").count()).toBe(0);

    await page.goto(`${httpUrl}/ui#/models/vectors`);
    await page.getByLabel("Texts, one on each line").fill("a cat\nact a\nccc");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("row", { name: "1 a cat 1.000 1.000 0.408" }).waitFor();
    await look("likeness");
    await page.getByLabel("Texts, one on each line").fill("a cat");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("alert").getByText("Write two lines at least.").waitFor();

    await page.goto(`${httpUrl}/ui#/models/ranks`);
    await page.getByRole("textbox", { name: "Query" }).fill("rug");
    await page.getByRole("button", { name: "Sort" }).click();
    await page.getByRole("table", { name: "The texts, the best first" }).waitFor();
    expect(
      await page.getByRole("table", { name: "The texts, the best first" }).getByRole("rowheader").allTextContents(),
    ).toEqual(["A kitten naps on a rug.", "The market fell today.", "A cat sleeps on the mat."]);
    await look("an-order");

    await page.goto(`${httpUrl}/ui#/models/plain`);
    await page.getByRole("button", { name: "Run" }).waitFor();
    expect(await page.getByRole("heading", { name: "Conversation" }).count()).toBe(0);
  });
});
