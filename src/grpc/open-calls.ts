/** The calls that a server is working on. */
export class OpenCalls {
  readonly #ends = new Set<() => void>();

  /** Counts a call in; `end` answers it at once. Returns what counts it out. */
  add(end: () => void): () => void {
    this.#ends.add(end);
    return () => this.#ends.delete(end);
  }

  /** Ends every call that is still open. */
  endAll(): void {
    for (const end of this.#ends) end();
  }
}
