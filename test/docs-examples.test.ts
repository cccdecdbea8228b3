import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { importUserModule } from "../src/user-module/user-module.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

/** A `console.log` of an example, and what it says that it prints. */
const PRINTS = /console\.log\(.*\); \/\/ (.*)$/gm;

/** The examples of the documents that say what they print. */
const EXAMPLES = ["docs/tensors.md", "docs/images.md", "docs/embedding.md", "docs/models.md"].flatMap((page) => {
  const blocks = [...readFileSync(page, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
    ([, code]) => code as string,
  );
  return blocks
    .filter((code) => code.includes("console.log"))
    .map((code, index) => [`${page} ${index + 1}`, code] as const);
});

test.each(EXAMPLES)("%s prints what it says", async (_, code) => {
  const printed: string[] = [];
  const spy = vi.spyOn(console, "log").mockImplementation((...values) => void printed.push(format(...values)));
  onTestFinished(() => spy.mockRestore());
  await importUserModule(join(tempFolder({ "example.ts": code }), "example.ts"));
  expect(printed).toEqual([...code.matchAll(PRINTS)].map(([, text]) => text));
});

test("there are examples of every function of the page", () => {
  expect(EXAMPLES.length).toBeGreaterThan(6);
});
