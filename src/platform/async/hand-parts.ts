import { createDeferred, type Deferred } from "./promises.ts";

/** Makes the parts of something one after the other; `write` resolves once a part was taken. */
type MakeParts<Part> = (write: (part: Part) => Promise<void>, leaving: AbortSignal) => Promise<void>;

/**
 * Gives parts as they are asked for, each once the reader has come for it, and throws what makes them rejects with. A
 * reader that leaves aborts the signal, and waits until that has settled.
 */
export async function* handParts<Part>(make: MakeParts<Part>): AsyncGenerator<Part, void, undefined> {
  const leaving = new AbortController();
  const handed = new HandedParts<Part>();
  const made = make((part) => handed.write(part), leaving.signal).then(
    () => handed.end(),
    (reason) => handed.end(reason),
  );
  try {
    for (let next = await handed.next(); next !== undefined; next = await handed.next()) yield next.part;
  } finally {
    leaving.abort();
    handed.end();
    await made;
  }
}

/** A part that was not taken yet. */
interface Waiting<Part> {
  readonly part: Part;
  readonly taken: Deferred<void>;
}

/** Hands each part on when it is asked for. */
class HandedParts<Part> {
  #waiting: Waiting<Part> | undefined;
  #wake = createDeferred<void>();
  #end: { readonly reason: unknown } | undefined;

  write(part: Part): Promise<void> {
    const taken = createDeferred<void>();
    if (this.#end === undefined) this.#waiting = { part, taken };
    else taken.resolve();
    this.#wake.resolve();
    return taken.promise;
  }

  /** Nothing follows; the first reason counts. */
  end(reason?: unknown): void {
    this.#end ??= { reason };
    this.#waiting?.taken.resolve();
    this.#wake.resolve();
  }

  /** The next part; undefined = there is none. Throws the reason for the end. */
  async next(): Promise<Waiting<Part> | undefined> {
    for (;;) {
      const waiting = this.#waiting;
      if (waiting !== undefined) {
        this.#waiting = undefined;
        waiting.taken.resolve();
        return waiting;
      }
      if (this.#end !== undefined) break;
      this.#wake = createDeferred();
      await this.#wake.promise;
    }
    if (this.#end.reason !== undefined) throw this.#end.reason;
    return undefined;
  }
}
