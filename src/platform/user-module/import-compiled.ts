import { readFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { failedPrecondition, reasonText, type ServingError } from "../../errors.ts";
import type { UserFrame } from "../../observability/user-frame.ts";
import { didYouMean } from "../text/nearest.ts";

/** The exports of a module by their names. */
export type Exports = Readonly<Record<string, unknown>>;

const OWN_MODULES: Readonly<Record<string, string>> = {
  kserving: "index.js",
  "kserving/client": "client/node.js",
  "kserving/hooks": "hooks/hooks.js",
  "kserving/drivers": "drivers/driver.js",
  "kserving/testing": "tools/testing/testing.js",
  "kserving/text": "text/text.js",
};

/** The imports by which files of users get the running server's own modules. */
export const OWN_IMPORTS: readonly string[] = Object.keys(OWN_MODULES);

/** The URL of the running server's own module for one of {@link OWN_IMPORTS}; undefined for any other import. */
export function ownModule(name: string): URL | undefined {
  const file = Object.hasOwn(OWN_MODULES, name) ? OWN_MODULES[name] : undefined;
  return file === undefined ? undefined : new URL(`../../../dist/${file}`, import.meta.url);
}

/**
 * Imports a compiled module in this thread; `path` names its source. Throws `failed_precondition` when it throws while
 * loading, with the place where it imports a name that the other module does not export.
 */
export async function importCompiled(url: string, path: string): Promise<Exports> {
  try {
    return await import(url);
  } catch (reason) {
    const missing = await missingExport(reason, url, path).catch(() => undefined);
    throw missing ?? failedPrecondition(`${path} threw while it was loaded: ${reasonText(reason)}`, reason);
  }
}

/** An import of a name that the other module, by its URL, does not export. */
interface MissingExport {
  readonly module: string;
  readonly name: string;
}

/** The error for a missing export; undefined for any other reason. */
async function missingExport(reason: unknown, url: string, path: string): Promise<ServingError | undefined> {
  const missing = parseMissing(reasonText(reason));
  if (missing === undefined) return undefined;
  const { module, name } = missing;
  const names = Object.keys(await import(module)).filter((each) => each !== "default");
  const hint = name === "default" ? " Name what is imported, in braces." : didYouMean(name, names);
  const text = `"${packageOf(module)}" exports no "${name}".${hint}`;
  const place = await placeOfImport(missing, url);
  return place === undefined ? failedPrecondition(`${path}: ${text}`, reason) : errorAt(place, path, { text, reason });
}

/** V8's text, and Node's for CommonJS. Only a compiled module imports by URL. */
function parseMissing(text: string): MissingExport | undefined {
  const [, module, name] =
    /^The requested module '(file:[^']+)' does not provide an export named '([^']+)'/.exec(text) ?? [];
  if (module !== undefined && name !== undefined) return { module, name };
  const [, other, common] = /^Named export '([^']+)' not found\. The requested module '(file:[^']+)'/.exec(text) ?? [];
  return other === undefined || common === undefined ? undefined : { name: other, module: common };
}

/** The package as it is imported. */
function packageOf(module: string): string {
  const own = OWN_IMPORTS.find((name) => ownModule(name)?.href === module);
  const [, installed] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module) ?? [];
  return own ?? installed ?? module;
}

/** The place of the import in the user's own file: the compiled one has the same import, and a map of places. */
async function placeOfImport({ module, name }: MissingExport, url: string): Promise<UserFrame | undefined> {
  const text = await readFile(fileURLToPath(url), "utf8");
  const word = new RegExp(String.raw`(?<![\w$])${name.replaceAll("$", String.raw`\$`)}(?![\w$])`);
  for (const { index, 0: statement, 1: clause = "", 2: from } of text.matchAll(
    /\b(?:im|ex)port\b([^;"']*)\bfrom "([^"]+)"/g,
  )) {
    const at = name === "default" ? 0 : clause.search(word);
    if (from === module && at !== -1) return originalPlace(text, index + statement.indexOf(clause) + at);
  }
  return undefined;
}

function originalPlace(compiled: string, offset: number): UserFrame | undefined {
  const before = compiled.slice(0, offset).split("\n");
  const map = compiled.slice(compiled.lastIndexOf("base64,") + "base64,".length);
  const found = new SourceMap(JSON.parse(Buffer.from(map, "base64").toString())).findEntry(
    before.length - 1,
    before.at(-1)!.length,
  );
  if (!("originalSource" in found)) return undefined;
  const { originalSource: file, originalLine, originalColumn } = found;
  return { file: resolve(file), line: originalLine + 1, column: originalColumn + 1 };
}

/** A problem at a place of a file, and the error behind it. */
interface PlacedProblem {
  readonly text: string;
  /** Advice, which follows the text. */
  readonly hint?: string;
  readonly reason: unknown;
}

/**
 * The error for a place in a user's file, as if that had thrown it there; `path` is the file's name as the user wrote
 * it, if it is the one that was named.
 */
export function errorAt(
  { file, line, column }: UserFrame,
  path: string,
  { text, hint = "", reason }: PlacedProblem,
): ServingError {
  const place = `${line}:${column}`;
  const cause = new Error(text, { cause: reason });
  cause.stack = `Error: ${text}\n    at ${resolve(file)}:${place}`;
  const named = resolve(file) === resolve(path) ? path : relative("", file);
  return failedPrecondition(`${named}:${place}: ${text}${hint}`, cause);
}
