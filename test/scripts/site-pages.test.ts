import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { versionMenu } from "../../scripts/site/navigation.ts";
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

test("commands of the site are in fences of their language, which have a button to copy", () => {
  const folder = tempFolder();
  const pages = new SitePages(folder);
  pages.write();
  const texts = [...pages.titles.keys()].map((page) => readFileSync(join(folder, `${page}.md`), "utf8"));
  expect(texts.filter((text) => /\n\n {4}(?:kserving|curl|npm|docker) /.test(text))).toEqual([]);
  const fences = texts.flatMap((text) => [...text.matchAll(/^ *```(\S*)/gm)].map(([, language]) => language));
  expect(fences.filter((language) => language === "sh").length).toBeGreaterThan(100);
  expect(readFileSync(join(folder, "docs/limits.md"), "utf8")).toContain("\n```sh\nkserving model.onnx --http-enable");
});

test("the menu of versions has this one, what is new in it, and the places of others", () => {
  expect(versionMenu("0.2.0", { others: ["0.1.0"] })).toEqual({
    text: "0.2.0",
    items: [
      { text: "Changelog", link: "/CHANGELOG" },
      { text: "0.1.0", link: "/0.1.0/", target: "_self" },
    ],
  });
  expect(versionMenu("0.1.0", { isKept: true }).items.at(-1)).toMatchObject({ link: "/../", target: "_self" });
});
