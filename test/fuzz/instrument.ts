import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { parseAst } from "rolldown/parseAst";

/** A source whose branches are counted. */
export interface CountedFile {
  readonly path: string;
  /** The number of its first branch, and how many it has. */
  readonly first: number;
  readonly branches: number;
  /** Texts and numbers that stand in it, with which it may compare what it reads. */
  readonly values: readonly (string | number)[];
}

/** The counts of all branches, by their numbers. */
export const COUNTS = "$kservingCounts";
const MOST_BRANCHES = 2 ** 17;
/** Libraries that read what strangers send, and are followed as our own code is. */
const LIBRARIES = /^(?:yaml|busboy|streamsearch)$/;
const FOLLOWED = /\/src\/.*\.ts$|\/node_modules\/(?:yaml|busboy|streamsearch)\/.*\.js$/;
const LONGEST_VALUE = 24;

/**
 * Bundles a program for Node whose branches each add to a count of their own, which is in the global {@link COUNTS}; a
 * file beside it, with `.json` behind its name, lists its sources.
 */
export async function buildInstrumented(entry: string, outfile: string): Promise<void> {
  const files: CountedFile[] = [];
  const banner =
    'import { createRequire as $toRequire } from "node:module"; const require = $toRequire(import.meta.url); ' +
    `const $c = (globalThis.${COUNTS} ??= new Uint32Array(${MOST_BRANCHES}));`;
  await build({
    ...{ bundle: true, platform: "node", format: "esm", packages: "external", sourcemap: true, logLevel: "error" },
    ...{ entryPoints: [entry], outfile, banner: { js: banner }, plugins: [withLibraries, countsBranches(files)] },
  });
  writeFileSync(`${outfile}.json`, JSON.stringify(files));
}

const withLibraries: Plugin = {
  name: "with-libraries",
  setup: ({ onResolve }) =>
    onResolve({ filter: LIBRARIES }, ({ path, importer }) => ({ path: createRequire(importer).resolve(path) })),
};

function countsBranches(files: CountedFile[]): Plugin {
  let next = 0;
  return {
    name: "counts-branches",
    setup: ({ onLoad }) =>
      onLoad({ filter: /\/(?:src|test)\/.*\.ts$|\/node_modules\/.*\.js$/ }, ({ path }) => {
        const loader = path.endsWith(".ts") ? "ts" : "js";
        // Modules find what lies beside them by where they were.
        const text = readFileSync(path, "utf8")
          .replaceAll(/(?<!")import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
          .replaceAll(/(?<!")import\.meta\.dirname/g, JSON.stringify(dirname(path)));
        if (!FOLLOWED.test(path)) return { contents: text, loader };
        const counted = new BranchCounter(text, loader, next);
        files.push({ path, first: next, branches: counted.next - next, values: [...counted.values] });
        next = counted.next;
        if (next > MOST_BRANCHES) throw new Error(`There are more than ${MOST_BRANCHES} branches; raise the limit.`);
        return { contents: counted.text(), loader };
      }),
  };
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** Members of a kind of node that are taken or not, and so have counts. */
const BRANCHES: Readonly<Record<string, readonly string[]>> = {
  IfStatement: ["consequent", "alternate"],
  ConditionalExpression: ["consequent", "alternate"],
  LogicalExpression: ["right"],
  AssignmentPattern: ["right"],
  ArrowFunctionExpression: ["body"],
  ForStatement: ["body"],
  ForInStatement: ["body"],
  ForOfStatement: ["body"],
  WhileStatement: ["body"],
  DoWhileStatement: ["body"],
};

/** Writes counts into a source, and looks for its values. */
class BranchCounter {
  readonly values = new Set<string | number>();
  next: number;
  readonly #source: string;
  readonly #branches = new Set<Node>();
  /** Texts before places in the source; those for one place in their order. */
  readonly #edits: { readonly at: number; readonly text: string }[] = [];

  constructor(source: string, lang: "ts" | "js", first: number) {
    this.#source = source;
    this.next = first;
    const sourceType = lang === "ts" ? "module" : "unambiguous";
    this.#visit(parseAst(source, { lang, sourceType, preserveParens: false }) as unknown as Node);
  }

  text(): string {
    const parts: string[] = [];
    let from = 0;
    for (const { at, text } of this.#edits.toSorted((one, other) => one.at - other.at)) {
      parts.push(this.#source.slice(from, at), text);
      from = at;
    }
    return parts.join("") + this.#source.slice(from);
  }

  #visit(node: Node): void {
    if (node.type === "ImportDeclaration" || node.type.startsWith("TSType")) return;
    this.#note(node);
    for (const name of BRANCHES[node.type] ?? []) if (isNode(node[name])) this.#branches.add(node[name]);
    const closing = this.#branches.has(node) ? this.#open(node) : "";
    if (node.type === "BlockStatement") this.#count(node.start + 1, "", ";");
    const [first] = node.type === "SwitchCase" ? (node.consequent as readonly Node[]) : [];
    if (first !== undefined) this.#count(first.start, "", ";");
    for (const member of Object.values(node)) {
      for (const one of Array.isArray(member) ? member : [member]) if (isNode(one)) this.#visit(one);
    }
    if (node.type === "IfStatement" && node.alternate === null) this.#count(node.end, " else{", ";}");
    if (closing !== "") this.#edits.push({ at: node.end, text: closing });
  }

  /** Begins a branch and gives what ends it. */
  #open({ type, start }: Node): string {
    if (type === "BlockStatement") return "";
    const isStatement = type.endsWith("Statement");
    this.#count(start, isStatement ? "{" : "(", isStatement ? ";" : ",");
    return isStatement ? "}" : ")";
  }

  #count(at: number, before: string, behind: string): void {
    this.#edits.push({ at, text: `${before}$c[${this.next++}]++${behind}` });
  }

  #note({ type, value, computed, key }: Node): void {
    const isNumber = type === "Literal" && typeof value === "number";
    const name = type === "Property" && computed === false && isNode(key) && key.type === "Identifier" && key.name;
    const text = type === "Literal" && typeof value === "string" ? value : name;
    if (isNumber) this.values.add(value);
    else if (typeof text === "string" && text !== "" && text.length <= LONGEST_VALUE) this.values.add(text);
  }
}

function isNode(value: unknown): value is Node {
  return typeof (value as Node | null)?.type === "string";
}
