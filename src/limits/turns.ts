/** Time in one turn of the event loop for what has just arrived, in milliseconds; beyond it, only little is done for each. */
const TURN_MS = 2;
/** Time after which a turn begins nothing more, however little that is. */
const LONGEST_TURN_MS = 8;
/** Most that is begun for one connection without looking at the others, in milliseconds. */
const MOST_MS = 1;
/** Milliseconds that a turn without time has left for what should take least: for the smallest piece of it, whatever that takes. */
const LEAST_MS = 0.1;
/** Milliseconds that a piece of work is expected to take for a connection of which nothing is known, and at least. */
const EXPECTED_MS = 1;
const LEAST_EXPECTED_MS = 0.01;
/** One that takes so many times what was expected was held up, by a collection of garbage or by another process. */
const HELD_UP = 4;

/** Time of the main thread that the pieces of work of one connection take. */
export class TurnUse {
  #expectedMs = EXPECTED_MS;

  /** Milliseconds that the next piece should take, by those before. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** Notes how long a piece took. */
  learn(ms: number): void {
    const likelyMs = Math.min(ms, HELD_UP * this.#expectedMs);
    this.#expectedMs = Math.max(LEAST_EXPECTED_MS, (this.#expectedMs + likelyMs) / 2);
  }
}

interface Waiting {
  readonly use: TurnUse;
  readonly goOn: () => void;
}

/**
 * The turns of the event loop as connections share them. What arrives is looked at when it arrives, a few milliseconds' worth at
 * most; the rest is continued in later turns, as much of it as takes so long: by turns that which should take least, so that
 * a small request does not wait for all that is large, and that which has waited longest.
 */
export class Turns {
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];
  /** Time at which the first work of this turn began; 0 = none has. */
  #began = 0;
  /** The connection whose work began last, and the time: what follows from it is done before any other's begins. */
  #served: TurnUse | undefined;
  #servedAt = 0;
  #isContinuing = false;
  #isOldestNext = false;

  /** Begins work for a connection; returns for how many milliseconds it may go on, 0 = it has to {@link wait}. */
  begin(use: TurnUse): number {
    const now = this.#end();
    if (this.#began === 0) this.#start(now);
    const mayTakeMs = this.#timeFor(use, now - this.#began);
    if (mayTakeMs > 0) this.#serve(use, now);
    return mayTakeMs;
  }

  /** Begins work for a connection that has waited for its turn. */
  resume(use: TurnUse): number {
    this.#serve(use, this.#end());
    return MOST_MS;
  }

  /** True once a turn begins nothing more, however little that is. */
  get isOver(): boolean {
    return this.#began !== 0 && performance.now() - this.#began > LONGEST_TURN_MS;
  }

  /** Calls a function in a later turn. */
  wait(use: TurnUse, goOn: () => void): void {
    this.#waiting.push({ use, goOn });
    if (this.#isContinuing) return;
    this.#isContinuing = true;
    setImmediate(() => this.#continue());
  }

  /** Resolves in the next turn, or in a later one where work that is begun for a connection would have to wait. */
  next(use: TurnUse): Promise<void> {
    return new Promise((resolve) => {
      if (this.begin(use) > 0) setImmediate(resolve);
      else this.wait(use, resolve);
    });
  }

  #timeFor(use: TurnUse, turnMs: number): number {
    if (turnMs <= TURN_MS) return MOST_MS;
    return turnMs <= LONGEST_TURN_MS && this.#isSmallest(use) ? LEAST_MS : 0;
  }

  #serve(use: TurnUse, now: number): void {
    this.#served = use;
    this.#servedAt = now;
  }

  /** Ends a piece of work. */
  #end(): number {
    const now = performance.now();
    this.#served?.learn(now - this.#servedAt);
    this.#served = undefined;
    return now;
  }

  #start(now: number): void {
    this.#began = now;
    setImmediate(() => {
      this.#end();
      this.#began = 0;
    });
  }

  #continue(until = performance.now() + TURN_MS): void {
    this.#takeNext().goOn();
    // A tick after the microtasks, when all is done that this one has begun.
    queueMicrotask(() => process.nextTick(() => this.#goOn(until)));
  }

  #goOn(until: number): void {
    const now = this.#end();
    this.#isContinuing = this.#waiting.length > 0;
    if (!this.#isContinuing) return;
    if (now < until) this.#continue(until);
    else setImmediate(() => this.#continue());
  }

  #takeNext(): Waiting {
    this.#isOldestNext = !this.#isOldestNext;
    const next = this.#isOldestNext ? 0 : this.#smallest();
    return this.#waiting.splice(next, 1)[0] as Waiting;
  }

  #smallest(): number {
    let smallest = 0;
    for (let index = 1; index < this.#waiting.length; index++) {
      if (this.#expectedAt(index) < this.#expectedAt(smallest)) smallest = index;
    }
    return smallest;
  }

  /** True where nothing that waits should take less than a piece of work that came now. */
  #isSmallest({ expectedMs }: TurnUse): boolean {
    return this.#waiting.length === 0 || this.#expectedAt(this.#smallest()) >= expectedMs;
  }

  #expectedAt(index: number): number {
    return (this.#waiting[index] as Waiting).use.expectedMs;
  }
}

/** The turns of this process's main thread. */
export const turns = new Turns();
