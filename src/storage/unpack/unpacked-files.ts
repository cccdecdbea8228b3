import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { failedPrecondition, type ServingError } from "../../errors.ts";
import { sizeText } from "../../text/size-text.ts";
import { localName } from "../local-name.ts";

/** Maximum number of files in an archive. */
const MAX_FILES = 10_000;

/** Limits of an archive's content. */
export interface UnpackLimits {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Writes the files of an archive into a folder, as far as its limits let it. */
export class UnpackedFiles {
  /** Of all files that were written. */
  bytes = 0;
  #count = 0;
  readonly #folder: string;
  readonly #limits: UnpackLimits;

  constructor(folder: string, limits: UnpackLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** A file of the same name is replaced. Throws `failed_precondition` for a name or size that is refused. */
  async write(name: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    if (++this.#count > MAX_FILES) throw failedPrecondition(`there are more than ${MAX_FILES} files`);
    const target = join(this.#folder, localName(name));
    try {
      await mkdir(dirname(target), { recursive: true });
      const counted = Readable.from(this.#counted(chunks));
      await pipeline(counted, createWriteStream(target), { signal: this.#limits.signal });
    } catch (reason) {
      const { code = "" } = reason as NodeJS.ErrnoException;
      if (!["EEXIST", "ENOTDIR", "EISDIR"].includes(code)) throw reason;
      throw failedPrecondition(`${JSON.stringify(name.slice(0, 200))} is a file and a folder at once`, reason);
    }
  }

  async *#counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      if (this.bytes > this.#limits.maxBytes) throw tooMuch(this.#limits.maxBytes);
      yield chunk;
    }
  }
}

function tooMuch(maxBytes: number): ServingError {
  return failedPrecondition(
    `the files have more than ${sizeText(maxBytes)}, which is more than archives of this size contain, or than --model-cache-size`,
  );
}
