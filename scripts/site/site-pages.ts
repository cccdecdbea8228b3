import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";

/** Documents that are pages, besides those in `docs`. */
const OTHERS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "proto/README.md"];
const FOLDERS = ["docs", "examples"];
/** Endings of files that a browser shows, or plays. */
const AS_IT_IS = /\.(?:png|jpg|svg|json|wav)$/;
/** The beginning of llms.txt, as llmstxt.org has it. */
const ABOUT =
  "# kserving\n\n> A model server for Node: models of any framework, chained with hooks in TypeScript.\n\n## Pages\n\n";
/** Lines of commands that are a block by their four spaces. */
const INDENTED = /(?<=\n\n)(?: {4}\S.*\n(?:\n(?= {4}))?(?: {4}.*\n)*)+/g;
/** A link or picture of Markdown whose target is a path, with what follows `#`. */
const LINK = /(?<=\]\()(?![a-z]+:|#|\/)([^()\s#]+)(#[^()\s]*)?(?=\))/g;

/** The source of a site: pages in a folder, and the files that they lead to below its `public`. */
export class SitePages {
  /** Titles of the pages by their paths, without ending. */
  readonly titles = new Map<string, string>();
  readonly #texts: string[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes every page, and `llms.txt` and `llms-full.txt` for programs; throws for a link to what is not there. */
  write(): void {
    // A build may be making their other folders meanwhile.
    const packages = readdirSync("packages").map((name) => join("packages", name, "README.md"));
    const files = [...OTHERS, ...FOLDERS.flatMap(documentsIn), ...packages];
    for (const file of files) this.#writePage(file);
    const links = files.map((file) => {
      const page = pageOf(file).replace(/\.md$/, "");
      return `- [${this.titles.get(page)}](/${page}.html)`;
    });
    this.#put("public/llms.txt", `${ABOUT}- [All pages in one text](/llms-full.txt)\n${links.join("\n")}\n`);
    this.#put("public/llms-full.txt", this.#texts.join("\n"));
  }

  #writePage(file: string): void {
    const text = readFileSync(file, "utf8");
    const page = pageOf(file);
    this.#texts.push(`<!-- ${file} -->\n\n${text}`);
    this.titles.set(page.replace(/\.md$/, ""), /^# (.+)$/m.exec(text)?.[1] ?? page);
    this.#put(page, withFences(withLinks(text, (path) => this.#linkTo(file, path))));
  }

  /** The way from a document to what it links: to another page, or to a file, which is copied. */
  #linkTo(file: string, path: string): string {
    const target = normalize(join(dirname(file), path));
    if (!existsSync(target)) throw new Error(`${file} links to ${path}, which is not there`);
    if (statSync(target).isDirectory()) return `/${this.#folderPage(target)}`;
    if (target.endsWith(".md")) return `/${pageOf(target)}`;
    // VitePress takes other endings for pages, and browsers would store such files, not show them.
    const shown = AS_IT_IS.test(target) ? target : `${target}.txt`;
    const copy = join(this.#folder, "public", shown);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(target, copy);
    return `/${shown}`;
  }

  /** A folder's README, or a page that lists its files. */
  #folderPage(folder: string): string {
    if (existsSync(join(folder, "README.md"))) return pageOf(join(folder, "README.md"));
    const page = join(folder, "index.md");
    if (this.titles.has(page.replace(/\.md$/, ""))) return page;
    this.titles.set(page.replace(/\.md$/, ""), basename(folder));
    const files = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
    const links = files.map((name) => `- [${name}](${this.#linkTo(page, name)})`);
    this.#put(page, `# ${basename(folder)}\n\n${links.join("\n")}\n`);
    return page;
  }

  #put(page: string, text: string): void {
    const path = join(this.#folder, page);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

function documentsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".md") && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
    .map((name) => join(folder, name));
}

function pageOf(file: string): string {
  return join(dirname(file), basename(file).replace(/^README\.md$/, "index.md"));
}

/** The same text with commands in fences of their language: VitePress copies from such alone. */
function withFences(text: string): string {
  const parts = text.split(/(^ *```[\s\S]*?^ *```$)/m);
  const changed = parts.map((part, index) =>
    index % 2 === 1
      ? part.replace(/^( *)```(?=\n)/, "$1```sh")
      : part.replace(INDENTED, (block) => `\`\`\`sh\n${block.replaceAll(/^ {4}/gm, "").trimEnd()}\n\`\`\`\n`),
  );
  return changed.join("");
}

/** The same text with other targets of its links; what stands in code stays. */
function withLinks(text: string, linkTo: (path: string) => string): string {
  const parts = text.split(/(^```[\s\S]*?^```|`[^`\n]*`)/m);
  const changed = parts.map((part, index) =>
    // Every second part is code.
    index % 2 === 1 ? part : part.replace(LINK, (_, path: string, mark = "") => linkTo(path) + mark),
  );
  return changed.join("");
}
