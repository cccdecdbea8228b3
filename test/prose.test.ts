import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SOURCES = filesOf(".ts", "src", "test", "scripts", "bench", "deploy", "examples");
const DOCS = [
  ...readdirSync(".").filter((file) => file.endsWith(".md")),
  ...filesOf(".md", "docs", "proto", "examples"),
  "test/README.md",
];
/** A doc comment with its first word, if that begins a clause. */
const CLAUSE = /\/\*\*[\s*]*(?:What|Whether|How|Where|When|Who|Whose|Which|Why)\b.*/g;
const MAX_WIDTH = 120;

test("doc comments begin with a noun or a verb, not with a clause", () => {
  const clauses = SOURCES.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(CLAUSE)].map(([text]) => `${file}: ${text}`),
  );
  expect(SOURCES.length).toBeGreaterThan(1000);
  expect(clauses).toEqual([]);
});

/** Words that readers stumble over: again, the caller, no client, hangs, next to. */
const UNUSUAL = /\b(?:anew|[Nn]obody|[Ss]omebody|[Ww]hoever|st(?:ands?|ood|anding) still)\b/g;

test("sources and documents have the usual words", () => {
  const files = [
    ...filesOf(".ts", "src", "scripts", "bench", "deploy"),
    ...filesOf(".tsx", "src"),
    ...DOCS.filter((file) => file !== "CHANGELOG.md"),
  ];
  const found = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(UNUSUAL)].map(([word]) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

/** Pages of one table, of which each row leads on. */
const TABLES = ["docs/comparison.md", "docs/licences.md", "docs/platforms.md", "docs/recipes.md"];
const OPENING_LINES = 20;

test("a page of docs/ opens with an example", () => {
  const pages = DOCS.filter((file) => /^docs\/(?:drivers\/)?[^/]+$/.test(file) && !TABLES.includes(file));
  const opens = (file: string) =>
    /^(```| {4}\S)/m.test(readFileSync(file, "utf8").split("\n").slice(0, OPENING_LINES).join("\n"));
  expect(pages.length).toBeGreaterThan(25);
  expect(pages.filter((file) => !opens(file))).toEqual([]);
});

test("docs are wrapped at 120 columns, but for tables, code, and words that are longer", () => {
  const tooWide = DOCS.flatMap((file) =>
    proseOf(file)
      .filter((line) => [...line].length > MAX_WIDTH)
      .map((line) => `${file}: ${line}`),
  );
  expect(DOCS.length).toBeGreaterThan(20);
  expect(tooWide).toEqual([]);
});

/** A line of a comment alone; what the linter reads has to stay on one line. */
const COMMENT = /^\s*(?:\/\*\*|\*|\/\/(?! biome-ignore)) /;

test("comments are wrapped at 120 columns, but for words that are longer", () => {
  const files = [...SOURCES, ...filesOf(".tsx", "src")];
  const tooWide = files.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => [...line].length > MAX_WIDTH && COMMENT.test(line))
      .filter((line) => /\S\s+\S/.test(withoutSpans(line.replace(COMMENT, ""))))
      .map((line) => `${file}: ${line}`),
  );
  expect(tooWide).toEqual([]);
});

/** Lines of a page that can be broken where a word ends; spaces within code and links are not such places. */
function proseOf(file: string): string[] {
  const text = readFileSync(file, "utf8").replace(/^\s*```[\s\S]*?^\s*```/gm, "");
  return text.split("\n").filter((line) => !/^(\||#|<| {4})/.test(line) && /\S\s+\S/.test(withoutSpans(line)));
}

function withoutSpans(line: string): string {
  return line.trim().replace(/`[^`]+`|\[[^\]]*\]\([^)]*\)/g, (span) => span.replaceAll(" ", "_"));
}

function filesOf(extension: string, ...folders: string[]): string[] {
  const all = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
  );
  return all.filter((file) => file.endsWith(extension) && !file.includes("node_modules"));
}
