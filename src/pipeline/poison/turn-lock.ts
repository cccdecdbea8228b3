/** Milliseconds for which one that runs alone keeps others waiting. */
const ALONE_MS = 5000;

/** Those that run together: requests of one group, or one alone. */
export type Group = object;

/** A group's turn, and the number of those that run in it. */
interface Turn {
  readonly group: Group | undefined;
  running: number;
}

interface Waiting {
  readonly group: Group;
  readonly begin: (turn: Turn) => void;
}

/**
 * Lets those of the same group run together, and others wait for them, in the order they came. One group that takes
 * long does not keep others for ever: they begin after {@link ALONE_MS}, and wait for it no more.
 */
export class TurnLock {
  readonly #waiting: Waiting[] = [];
  #turn: Turn = { group: undefined, running: 0 };
  #timer: NodeJS.Timeout | undefined;

  /** True if none waits, and none of those runs whose turn it is; one that took too long may go on for all that. */
  get isFree(): boolean {
    return this.#turn.running === 0 && this.#waiting.length === 0;
  }

  /** Resolves when the group's turn has come, with what {@link leave} is to be called with. */
  async enter(group: Group): Promise<Turn> {
    if (this.#waiting.length === 0 && (this.#turn.running === 0 || this.#turn.group === group)) {
      if (this.#turn.running === 0) this.#turn = { group, running: 0 };
      this.#turn.running++;
      return this.#turn;
    }
    this.#timer ??= setTimeout(() => this.#goOn(), ALONE_MS);
    return new Promise((resolve) => {
      this.#waiting.push({ group, begin: resolve });
    });
  }

  leave(turn: Turn): void {
    turn.running--;
    if (turn === this.#turn && turn.running === 0) this.#goOn();
  }

  /** Begins the first that waits, and those of its group right behind it. */
  #goOn(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const group = this.#waiting[0]?.group;
    if (group === undefined) return;
    const turn: Turn = { group, running: 0 };
    this.#turn = turn;
    while (this.#waiting[0]?.group === group) {
      turn.running++;
      this.#waiting.shift()?.begin(turn);
    }
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#goOn(), ALONE_MS);
  }
}
