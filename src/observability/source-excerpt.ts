import { readFileSync, statSync } from "node:fs";
import { extname, isAbsolute, relative } from "node:path";
import { printable } from "../text/printable.ts";
import type { UserFrame } from "./user-frame.ts";

/** Files that are shown; a stack may be made up, and lead anywhere. */
const SOURCE_ENDINGS: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"]);
/** A larger file is generated, and not worth reading for one line. */
const MAX_FILE_BYTES = 1_000_000;
/** Characters of a line that are shown, with the place in their middle. */
const MAX_COLUMNS = 100;

/** A place as `file:line:column`, by its relative path where it lies below the current folder. */
export function placeOf({ file, line, column }: UserFrame): string {
  return `${printable(shortPath(file))}:${line}:${column}`;
}

/** The place, and below it the line of code with a mark under the column, where the file can be read. */
export function toExcerpt(frame: UserFrame): string[] {
  const { line, column } = frame;
  const place = `at ${placeOf(frame)}`;
  const code = readLine(frame);
  if (code === undefined) return [place];
  const start = code.length <= MAX_COLUMNS ? 0 : Math.max(0, column - MAX_COLUMNS / 2);
  const shown = code.slice(start, start + MAX_COLUMNS).replaceAll("\t", " ");
  const gutter = " ".repeat(String(line).length);
  return [place, `${line} | ${printable(shown)}`, `${gutter} | ${" ".repeat(Math.max(0, column - 1 - start))}^`];
}

function shortPath(file: string): string {
  const path = relative("", file);
  return path.startsWith("..") || isAbsolute(path) ? file : path;
}

/** The line as the file has it now, which may have changed since it was loaded. */
function readLine({ file, line }: UserFrame): string | undefined {
  try {
    if (!SOURCE_ENDINGS.has(extname(file)) || statSync(file).size > MAX_FILE_BYTES) return undefined;
    const text = readFileSync(file, "utf8").split("\n")[line - 1]?.trimEnd();
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
