import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Undefined for what is not a file: `node:fs`, `<anonymous>`, a module from data. */
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
