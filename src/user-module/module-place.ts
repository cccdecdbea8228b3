import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Names that {@link withPlace} defines in each file that asks for its place. They are our own, because a file may well
 * declare `__dirname` itself: esbuild replaces only those that are not declared.
 */
export const PLACE_NAMES = {
  "import.meta.url": "__kservingUrl",
  "import.meta.dirname": "__kservingFolder",
  "import.meta.filename": "__kservingFile",
  __dirname: "__kservingFolder",
  __filename: "__kservingFile",
};

/** A file's first line, if it names an interpreter; it must be the very first. */
const HASHBANG = /^(?:#!.*\r?\n)?/;

/** Gives a file its own `import.meta.url`, `__filename` and `__dirname`, which bundling would lose. */
export function withPlace(source: string, path: string): string {
  if (!/__dirname|__filename|import\.meta/.test(source)) return source;
  const names = `const __kservingFile = ${JSON.stringify(path)}, __kservingFolder = ${JSON.stringify(dirname(path))}, __kservingUrl = ${JSON.stringify(pathToFileURL(path).href)};`;
  return source.replace(HASHBANG, (line) => line + names);
}
