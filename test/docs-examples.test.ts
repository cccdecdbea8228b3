import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { format, promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { importUserModule } from "../src/platform/user-module/user-module.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

/** A `console.log` of an example, and what it says that it prints. */
const PRINTS = /console\.log\(.*\); \/\/ (.*)$/gm;

/** The examples of the documents that say what they print. */
const EXAMPLES = [
  "docs/tensors.md",
  "docs/hooks.md",
  "docs/client.md",
  "docs/images.md",
  "docs/embedding.md",
  "docs/models.md",
  "docs/replay.md",
].flatMap((page) => {
  return codeOf(page)
    .filter((code) => code.includes("console.log"))
    .map((code, index) => [`${page} ${index + 1}`, code] as const);
});

/** The blocks of TypeScript on a page. */
function codeOf(page: string): string[] {
  const blocks = readFileSync(page, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, code]) => code as string);
}

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

test("the compiler takes every example in TypeScript, in a strict project of a user", {
  timeout: 120_000,
}, async () => {
  const pages = [
    "README.md",
    ...readdirSync("docs", { encoding: "utf8", recursive: true })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join("docs", name)),
  ];
  const examples = pages.flatMap((page) =>
    codeOf(page).map(
      (code, index) => [`${page.replaceAll(/\W/g, "-")}-${index + 1}.ts`, `${code}export {};\n`] as const,
    ),
  );
  expect(examples.length).toBeGreaterThan(12);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: "es2023", module: "nodenext", types: ["node"] },
    typeRoots: [resolve("node_modules/@types")],
    paths: {
      kserving: [resolve("dist/index.d.ts")],
      "kserving/client": [resolve("dist/client/client.d.ts")],
      "kserving/testing": [resolve("dist/tools/testing/testing.d.ts")],
      "kserving/text": [resolve("dist/text/text.d.ts")],
    },
  };
  const folder = tempFolder({
    ...Object.fromEntries(examples),
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify({ compilerOptions }),
  });
  const compiler = resolve("node_modules/typescript/bin/tsc");
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, "-p", folder]).catch((reason) => reason);
  expect(stdout).toBe("");
});
