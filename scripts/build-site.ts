/**
 * `npm run site`: the documents as a static site in `.cache/site/dist`, by VitePress, which it installs there. Fails
 * for a link that leads nowhere. This version lies at the root, and each other one that has a tag below its number, as
 * its own `npm run site -- --base /0.1.0/` makes it.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand } from "../test/helpers/run-command.ts";
import { checkOutTags } from "./site/kept-versions.ts";
import { sideBar, versionMenu } from "./site/navigation.ts";
import { SitePages } from "./site/site-pages.ts";

const VITEPRESS = { vitepress: "1.6.4" };
const FOLDER = ".cache/site";
const SOURCE = join(FOLDER, "pages");
const KEPT = join(FOLDER, "kept");

const { values } = parseArgs({ options: { base: { type: "string", default: "/" } } });
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const isKept = values.base !== "/";
// One that is kept does not know of later ones.
const kept = isKept ? [] : checkOutTags(version, KEPT);

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
      versionMenu(version, { others: kept.map((other) => other.version), isKept }),
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
for (const other of kept) {
  runCommand(process.execPath, ["--import", "tsx", "scripts/build-site.ts", "--base", `/${other.version}/`], {
    cwd: other.folder,
  });
  cpSync(join(other.folder, FOLDER, "dist"), join(FOLDER, "dist", other.version), { recursive: true });
  console.log(`version ${other.version} lies below /${other.version}/`);
}
console.log(`${pages.titles.size} pages: ${FOLDER}/dist; to read them: npx vite preview --outDir dist, in ${FOLDER}`);
