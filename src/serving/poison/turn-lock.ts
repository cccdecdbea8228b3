/** Milliseconds for which one that runs alone keeps others waiting. */
const ALONE_MS = 5000;

/** Those that run together: requests of one group, or one alone. */
export type Group = object;

interface Waiting {
  readonly group: Group;
  readonly begin: () => void;
}

/**
 * Lets those of the same group run together, and others wait for them, in the order they came. One group that takes
 * long does not keep others for ever: they begin after {@link ALONE_MS}.
 */
export class TurnLock {
  readonly #waiting: Waiting[] = [];
  #group: Group | undefined;
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  /** True if none runs or waits. */
  get isFree(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  /** Resolves when the group's turn has come; to be followed by {@link leave}. */
  async enter(group: Group): Promise<void> {
    if (this.#waiting.length === 0 && (this.#running === 0 || this.#group === group)) {
      this.#begin(group);
      return;
    }
    this.#timer ??= setTimeout(() => this.#goOn(), ALONE_MS);
    await new Promise<void>((resolve) => {
      this.#waiting.push({ group, begin: resolve });
    });
  }

  leave(): void {
    this.#running--;
    if (this.#running === 0) this.#goOn();
  }

  #begin(group: Group): void {
    this.#group = group;
    this.#running++;
  }

  /** Begins the first that waits, and those of its group right behind it. */
  #goOn(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const group = this.#waiting[0]?.group;
    while (group !== undefined && this.#waiting[0]?.group === group) {
      this.#begin(group);
      this.#waiting.shift()?.begin();
    }
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#goOn(), ALONE_MS);
  }
}
