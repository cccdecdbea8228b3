/** Steps that free what was created, run once, in reverse order. */
export class CleanupStack {
  readonly #steps: (() => Promise<void>)[] = [];
  #done: Promise<void> | undefined;

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Runs all steps, even where one fails; rejects with the first failure. */
  run(): Promise<void> {
    this.#done ??= this.#run();
    return this.#done;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) await step().catch((reason) => failures.push(reason));
    if (failures.length > 0) throw failures[0];
  }
}
