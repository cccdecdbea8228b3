import { readFileSync, statSync } from "node:fs";
import { dirname, extname, isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { printable } from "../platform/text/terminal.ts";

/** A place in a source file. */
export interface UserFrame {
  /** Absolute path. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** `at name (file:line:column)` or `at file:line:column`, as V8 writes them. */
const FRAME = /^\s+at (?:.*? \()?((?:file:\/\/)?\/?[^()]*?):(\d+):(\d+)\)?$/;
/** Parts of an error that lead to its causes, as an object or as a log event has them. */
interface Thrown {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

/** Maximum depth of causes; an error may be its own cause. */
const MAX_CAUSES = 8;
/** Files that are shown; a stack may be made up, and lead anywhere. */
const SOURCE_ENDINGS: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"]);
/** A larger file is generated, and not worth reading for one line. */
const MAX_FILE_BYTES = 1_000_000;
/** Characters of a line that are shown, with the place in their middle. */
const MAX_COLUMNS = 100;

/** `src` or `dist`, where the program's own frames lie. */
const OWN_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
const OWN_FOLDERS = ["src", "dist", "bin"].map((name) => `${dirname(OWN_FOLDER)}${sep}${name}${sep}`);

/**
 * The innermost frame of an error, or else of its causes, that is neither the program's own, nor a package's, nor
 * Node's: where a user's hook or driver went wrong.
 */
export function findUserFrame(reason: unknown): UserFrame | undefined {
  let thrown = reason;
  for (let depth = 0; depth < MAX_CAUSES && typeof thrown === "object" && thrown !== null; depth++) {
    const { message, stack, cause } = thrown as Thrown;
    const frame = frameOf(String(stack ?? ""), String(message ?? ""));
    if (frame !== undefined) return frame;
    thrown = cause;
  }
  return undefined;
}

/** The message stands before the frames, and clients may have chosen parts of it. */
function frameOf(stack: string, message: string): UserFrame | undefined {
  const start = stack.indexOf(message);
  const frames = start < 0 ? stack : stack.slice(start + message.length);
  for (const text of frames.split("\n")) {
    const frame = parseFrame(text);
    if (frame !== undefined && isUsers(frame.file)) return frame;
  }
  return undefined;
}

function parseFrame(text: string): UserFrame | undefined {
  const [, place, line, column] = FRAME.exec(text) ?? [];
  const file = place === undefined ? undefined : toPath(place);
  return file === undefined ? undefined : { file, line: Number(line), column: Number(column) };
}

/** Undefined for places that are no file: `node:fs`, `<anonymous>`, a module from data. */
function toPath(place: string): string | undefined {
  if (/^(?:\/|[A-Za-z]:\\)/.test(place)) return place;
  try {
    return place.startsWith("file://") ? fileURLToPath(place) : undefined;
  } catch {
    return undefined;
  }
}

function isUsers(file: string): boolean {
  return !file.includes(`${sep}node_modules${sep}`) && !OWN_FOLDERS.some((folder) => file.startsWith(folder));
}

/** A place as `file:line:column`, by its relative path if it lies below the current folder. */
export function placeOf({ file, line, column }: UserFrame): string {
  return `${printable(shortPath(file))}:${line}:${column}`;
}

/** The place, and below it the line of code with a mark under the column, if the file can be read. */
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
