import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SitePages } from "../../scripts/site/site-pages.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("the site has an index for programs, and all pages as one plain text", () => {
  const folder = tempFolder();
  const pages = new SitePages(folder);
  pages.write();
  const index = readFileSync(join(folder, "public/llms.txt"), "utf8");
  expect(index).toMatch(/^# kserving\n\n> A model server/);
  expect(index).toContain("- [Models of texts](/docs/text.html)\n");
  const listed = [...index.matchAll(/^- \[(.+)\]\(\/(.+?)(?:\.html)?\)$/gm)].map(([, title, page]) => [page, title]);
  expect(listed[0]).toEqual(["llms-full.txt", "All pages in one text"]);
  for (const [page, title] of listed.slice(1)) expect(pages.titles.get(String(page))).toBe(title);
  const whole = readFileSync(join(folder, "public/llms-full.txt"), "utf8");
  for (const [page] of listed.slice(1))
    expect(whole).toContain(`<!-- ${String(page).replace(/(^|\/)index$/, "$1README")}.md -->`);
  expect(whole).toContain(readFileSync("docs/text.md", "utf8"));
});
