import type { Readable } from "node:stream";
import { ServingError } from "../../errors.ts";

/** Reads a stream in pieces of a known length; throws {@link damaged} if it fails or ends before. */
export class BlockReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** The next bytes in one buffer. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.open(count).chunks()) parts.push(part);
    return Buffer.concat(parts);
  }

  async skip(count: number): Promise<void> {
    await this.open(count).skip();
  }

  /** The next bytes as a stream, to be read once. */
  open(count: number): { chunks(): AsyncGenerator<Buffer>; skip(): Promise<void> } {
    let left = count;
    const next = async () => {
      const part = await this.#next(left);
      left -= part.length;
      return part;
    };
    async function* chunks() {
      while (left > 0) yield await next();
    }
    const skip = async () => {
      while (left > 0) await next();
    };
    return { chunks, skip };
  }

  /** The next bytes in one buffer, or what is left of them at the end of the stream, which has to be a sound one. */
  async takeRest(most: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = most; left > 0 && (await this.#fill()); ) {
      const part = await this.#next(left);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async #next(most: number): Promise<Buffer> {
    if (!(await this.#fill())) throw damaged();
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** False at the end of the stream. */
  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next().catch((cause) => {
        throw damaged(cause);
      });
      if (done === true) return false;
      this.#rest = value;
    }
    return true;
  }
}

/** The error of an archive that cannot be read on. */
export function damaged(cause?: unknown): ServingError {
  const message = "it is not a gzipped tar archive, or a damaged or cut one. Download it again.";
  return new ServingError("data_loss", message, cause === undefined ? {} : { cause });
}
