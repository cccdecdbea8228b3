/**
 * Runs steps with the same name one after the other, in the order of arrival, and
 * those with different names concurrently.
 */
export class TurnsByName {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a step when it is its turn; settles as it does. */
  run<T>(name: string, step: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(name) ?? Promise.resolve()).then(step);
    const over = result
      .catch(() => {})
      .then(() => {
        if (this.#last.get(name) === over) this.#last.delete(name);
      });
    this.#last.set(name, over);
    return result;
  }
}
