import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Variables that were taken out of this process's environment. */
let taken: Variables = {};

/** Keeps variables that neither hooks nor child processes are to have. */
export function keepTaken(variables: Variables): void {
  taken = variables;
}

/** Puts some of these variables back into the environment, where hooks find them; returns the names of the others. */
export function giveBack(names: readonly string[]): readonly string[] {
  for (const name of names) if (taken[name] !== undefined) process.env[name] = taken[name];
  return Object.keys(taken).filter((name) => !names.includes(name));
}

/** The environment that the program was started with, secrets included: for the server's own use. */
export function wholeEnvironment(): Variables {
  return { ...process.env, ...taken };
}

/** Changes the words of a command line, each to be as long as before. */
type HideWords = (words: readonly string[]) => readonly string[];

/**
 * Overwrites what the system shows of this process's start, in /proc/PID/environ and /proc/PID/cmdline: the whole
 * environment, of which copies stay, and the words that `hide` changes. Does nothing if there are no such files, or
 * if the system refuses it, as sandboxes and kernels with `proc_mem.restrict_write` do.
 */
export function overwriteStart(hide: HideWords): void {
  const places = placesOfStart();
  const memory = places && openMemory();
  if (places === undefined || memory === undefined) return;
  for (const [name, text = ""] of Object.entries(process.env)) {
    // Deleted first: the C library then takes own memory for it.
    delete process.env[name];
    process.env[name] = text;
  }
  try {
    rewrite(memory, places.words, (bytes) => hidden(bytes, hide));
    rewrite(memory, places.environment, (bytes) => Buffer.alloc(bytes.length));
  } catch {
  } finally {
    closeSync(memory);
  }
}

function openMemory(): number | undefined {
  try {
    return openSync("/proc/self/mem", "r+");
  } catch {
    return undefined;
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Addresses of the arguments and the environment, by the fields arg_start to env_end of proc_pid_stat(5). */
function placesOfStart(): { readonly words: Span; readonly environment: Span } | undefined {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1");
    // The first two fields are the number and the name, which may have spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 49);
    const [start = 0, end = 0, from = 0, to = 0] = fields.slice(48 - 3).map(Number);
    return start > 0 && from > 0 ? { words: { start, end }, environment: { start: from, end: to } } : undefined;
  } catch {
    return undefined;
  }
}

function rewrite(memory: number, { start, end }: Span, change: (bytes: Buffer) => Buffer): void {
  const bytes = Buffer.alloc(end - start);
  readSync(memory, bytes, 0, bytes.length, start);
  writeSync(memory, change(bytes), 0, bytes.length, start);
}

function hidden(bytes: Buffer, hide: HideWords): Buffer {
  const words = bytes.toString("latin1").split("\0");
  const shown = hide(words.map((word) => Buffer.from(word, "latin1").toString()));
  const texts = words.map((word, index) => {
    const text = Buffer.from(shown[index] ?? "").toString("latin1");
    return text.slice(0, word.length).padEnd(word.length);
  });
  return Buffer.from(texts.join("\0"), "latin1");
}
