/**
 * `npm run site`: the documents as a static site in `.cache/site/dist`, by VitePress, which it installs there. Fails
 * for a link that leads nowhere. The newest version is served at the root; `--base /0.1.0/` makes the site of one that
 * is kept below its number.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand } from "../test/helpers/run-command.ts";
import { sideBar, versionMenu } from "./site/navigation.ts";
import { SitePages } from "./site/site-pages.ts";

const VITEPRESS = { vitepress: "1.6.4" };
const FOLDER = ".cache/site";
const SOURCE = join(FOLDER, "pages");

const { values } = parseArgs({ options: { base: { type: "string", default: "/" } } });
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
// One that is kept does not know of later ones.
const tags = values.base === "/" ? runCommand("git", ["tag", "--list", "v*", "--sort=-v:refname"]).trim() : "";

mkdirSync(FOLDER, { recursive: true });
writeFileSync(join(FOLDER, "package.json"), JSON.stringify({ private: true, type: "module", dependencies: VITEPRESS }));
runCommand("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: FOLDER });
rmSync(SOURCE, { recursive: true, force: true });
const pages = new SitePages(SOURCE);
pages.write();

const config = {
  title: "kserving",
  description: "A model server for Node: models of any framework, chained with hooks in TypeScript.",
  base: values.base,
  outDir: "../dist",
  cacheDir: "../cache",
  cleanUrls: false,
  lastUpdated: false,
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: sideBar(pages.titles),
    nav: [
      { text: "Quickstarts", link: "/docs/quickstarts" },
      { text: "Hooks", link: "/docs/hooks" },
      { text: "Commands", link: "/docs/commands" },
      { text: "Comparison", link: "/docs/comparison" },
      versionMenu(version, tags === "" ? [] : tags.split("\n")),
    ],
  },
};
mkdirSync(join(SOURCE, ".vitepress"), { recursive: true });
// Headings have the same marks as on GitHub, for which the links were written.
const markdown =
  "{ anchor: { slugify: (text) => text.trim().toLowerCase().replace(/[^\\p{L}\\p{N} _-]/gu, '').replaceAll(' ', '-') } }";
writeFileSync(
  join(SOURCE, ".vitepress/config.mjs"),
  `export default { ...${JSON.stringify(config, null, 2)}, markdown: ${markdown} };\n`,
);
// What stands outside the lines of a wide table or program would make the whole page as wide on a phone.
const theme = join(SOURCE, ".vitepress/theme");
mkdirSync(theme);
writeFileSync(join(theme, "style.css"), ".Layout { overflow-x: clip; }\n");
writeFileSync(
  join(theme, "index.js"),
  'import Theme from "vitepress/theme";\nimport "./style.css";\n\nexport default Theme;\n',
);
console.log(runCommand(join(FOLDER, "node_modules/.bin/vitepress"), ["build", SOURCE]).trim());
console.log(`${pages.titles.size} pages: ${FOLDER}/dist; to read them: npx vite preview --outDir dist, in ${FOLDER}`);
