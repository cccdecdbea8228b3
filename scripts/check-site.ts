/**
 * Follows every link of the built site to itself, and opens it in Chromium: commands are copied, a search, the version,
 * others that the site has, both themes, a narrow screen.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, extname, join, normalize } from "node:path/posix";
import { chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../test/helpers/chromium.ts";

const DIST = ".cache/site/dist";
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".png": "image/png",
};

const files = new Set(readdirSync(DIST, { recursive: true, encoding: "utf8" }));
/** Blocks of code without a button that copies them. */
function uncopied(): string[] {
  return [...texts].flatMap(([page, text]) => {
    const bare = text.match(/<pre(?![^>]*\bclass="shiki)/g) ?? [];
    return bare.map(() => page);
  });
}

const pages = [...files].filter((file) => file.endsWith(".html"));
const texts = new Map(pages.map((page) => [page, readFileSync(join(DIST, page), "utf8")]));

/** Links of the pages to files or headings that are not there. */
function lostLinks(): string[] {
  return [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/ (?:href|src)="([^":]+)"/g)].flatMap(([, link = ""]) =>
      leads(page, link) ? [] : `${page}: ${link}`,
    ),
  );
}

function leads(page: string, link: string): boolean {
  const [path = "", mark = ""] = link.replaceAll("&amp;", "&").split("#");
  const target = path === "" ? page : pageAt(path.startsWith("/") ? path.slice(1) : join(dirname(page), path));
  if (!files.has(target)) return false;
  return mark === "" || texts.get(target)?.includes(`id="${decodeURIComponent(mark)}"`) !== false;
}

function pageAt(path: string): string {
  const file = normalize(path);
  if (file === "." || file.endsWith("/")) return join(file, "index.html");
  return extname(file) === "" ? `${file}.html` : file;
}

/** Switches the theme by its button; the new background. */
async function otherTheme(page: Page): Promise<unknown> {
  await page.locator(".VPSwitchAppearance").first().click();
  return page.evaluate("getComputedStyle(document.body).backgroundColor");
}

/** Copies each command of a page by its button, and compares the clipboard with it. */
async function copyAll(page: Page, path: string): Promise<number> {
  await page.goto(home + path);
  const blocks = await page.locator("div.language-sh").all();
  for (const block of blocks) {
    await block.hover();
    await block.locator("button.copy").click();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    assert.equal(`${copied}`.trim(), (await block.locator("pre code").innerText()).trim());
  }
  return blocks.length;
}

/** Goes by the menus at the top to each version that is kept, and from there to this one again. */
async function visitKept(page: Page): Promise<readonly string[]> {
  const kept = readdirSync(DIST).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  const openMenu = (name: string) => page.locator(".VPNavBarMenu").getByRole("button", { name }).hover();
  for (const other of kept) {
    await page.goto(home);
    await openMenu(version);
    await page.getByRole("link", { name: other, exact: true }).click();
    await page.waitForURL(`${home}${other}/`);
    await openMenu(other);
    await page.getByRole("link", { name: "The newest version" }).click();
    await page.waitForURL(home);
    await page.locator(".VPNavBarMenu").getByRole("button", { name: version }).waitFor();
  }
  return kept;
}

async function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
}

assert.ok(pages.length > 60, `the site has ${pages.length} pages; run npm run site`);
assert.deepEqual(lostLinks(), []);
assert.deepEqual(uncopied(), []);
console.log(`${pages.length} pages, and no link of theirs leads nowhere`);

const server = createServer(({ url = "/" }, response) => {
  const file = pageAt(decodeURIComponent(url.split(/[?#]/)[0]?.slice(1) || "index.html"));
  if (!files.has(file)) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(readFileSync(join(DIST, file)));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox"],
});
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "dark" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(home);
  assert.match(await page.locator("h1").first().innerText(), /^kserving/);
  await page.screenshot({ path: ".cache/site/dark.png" });
  const dark = await page.evaluate("getComputedStyle(document.body).backgroundColor");
  assert.notEqual(await otherTheme(page), dark);
  assert.equal(await otherTheme(page), dark);
  assert.match(await page.locator(".VPNavBarMenu").innerText(), new RegExp(`\\b${version}\\b`));
  const copied = (await copyAll(page, "")) + (await copyAll(page, "docs/security.html"));
  assert.ok(copied > 8, `${copied} commands have a button that copies`);
  console.log(`version ${version} is shown, the theme changes, ${copied} commands are copied as they stand`);
  const kept = await visitKept(page);
  if (kept.length > 0) console.log(`the menus lead to ${kept.join(", ")}, and from there to ${version}`);
  await page.goto(home);
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("searchbox").fill("ml-serving-ignore");
  await page.locator(".result").first().click();
  await page.waitForURL(/docs\//);
  console.log(`a search leads to ${new URL(page.url()).pathname}`);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  for (const name of ["", "docs/hooks.html", "docs/configuration.html", "docs/comparison.html"]) {
    await page.goto(home + name);
    assert.equal(await isTooWide(page), false, `/${name} is wider than a phone`);
  }
  await page.screenshot({ path: ".cache/site/narrow.png" });
  assert.deepEqual(errors, []);
  console.log("both themes, and 390 px, hold");
} finally {
  await browser.close();
  server.close();
}
