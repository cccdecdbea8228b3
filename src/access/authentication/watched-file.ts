import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";

/** The reader of a file, and its name in messages. */
export interface FileForm<Content> {
  /** `file of users`. */
  readonly what: string;
  /** Throws for a text that it cannot read. */
  readonly parse: (text: string, path: string) => Content | Promise<Content>;
}

/** Milliseconds for which a file that has changed must stay the same: it may be in the middle of being written. */
const SETTLE_MS = 200;
/** Bytes of the largest file that is read. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The content of a file, read again when it has changed. */
export class WatchedFile<Content> {
  readonly path: string;
  readonly #form: FileForm<Content>;
  #text: string;
  #content: Content;
  #isEmptied = false;

  private constructor(path: string, form: FileForm<Content>, { text, content }: Read<Content>) {
    this.path = path;
    this.#form = form;
    this.#text = text;
    this.#content = content;
  }

  /** Reads the file; throws `failed_precondition` if it cannot be read or says nothing that can be used. */
  static async open<Content>(path: string, form: FileForm<Content>): Promise<WatchedFile<Content>> {
    const text = await readText(path, form.what);
    return new WatchedFile(path, form, { text, content: await parse(text, path, form) });
  }

  get content(): Content {
    return this.#content;
  }

  /**
   * Reads the file again; resolves with true if it says something new. What is still being written counts with a
   * later call. Throws as {@link open}, and keeps what it said before then.
   */
  async refresh(): Promise<boolean> {
    const text = await readText(this.path, this.#form.what);
    if (text === this.#text) this.#isEmptied = false;
    if (text === this.#text || !(await this.#isWhole(text))) return false;
    this.#content = await parse(text, this.path, this.#form);
    this.#text = text;
    return true;
  }

  /** A program that waits for a password may have emptied its output long before it writes: half a file opens doors. */
  async #isWhole(text: string): Promise<boolean> {
    const wasEmptied = this.#isEmptied;
    this.#isEmptied = text.trim() === "";
    if (this.#isEmptied && !wasEmptied) return false;
    await setTimeout(SETTLE_MS);
    return (await readText(this.path, this.#form.what)) === text;
  }
}

interface Read<Content> {
  readonly text: string;
  readonly content: Content;
}

async function readText(path: string, what: string): Promise<string> {
  const bytes = await readFile(path).catch((cause) => {
    throw failedPrecondition(`The ${what} cannot be read from ${path}: ${reasonText(cause)}`, cause);
  });
  if (bytes.length > MAX_BYTES)
    throw failedPrecondition(`The ${what} ${path} has ${bytes.length} bytes; expected ${MAX_BYTES} at most.`);
  return bytes.toString();
}

async function parse<Content>(text: string, path: string, form: FileForm<Content>): Promise<Content> {
  try {
    return await form.parse(text, path);
  } catch (reason) {
    if (reason instanceof ServingError) throw failedPrecondition(reason.message, reason);
    throw failedPrecondition(`The ${form.what} ${path} cannot be read: ${reasonText(reason)}`, reason);
  }
}
