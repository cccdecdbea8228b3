/** Parts that a thread handles in one turn of its event loop at most, of all answers together. */
const PARTS_OF_TURN = 32;

/** Turns of this thread's event loop, as answers in parts share them. */
const shared = {
  /** Number of this turn. */
  turn: 0,
  left: PARTS_OF_TURN,
  /** Parts of one answer in this turn. */
  share: PARTS_OF_TURN,
  waiting: [] as (() => void)[],
};

/**
 * Turns of the event loop for the parts of one answer, in step with those of all others: a generator that waits for
 * nothing would otherwise go on until its client takes no more, and the parts of a thousand answers that come together
 * would be handled at once; neither others nor the news that a client has left would come through.
 */
export class PartTurns {
  #turn = -1;
  #used = 0;

  /** A promise if the next part is for a later turn of the event loop. */
  next(): Promise<void> | undefined {
    if (this.#turn !== shared.turn) this.#used = 0;
    if (shared.left > 0 && this.#used < shared.share) {
      this.#count();
      return undefined;
    }
    return new Promise((resolve) => {
      shared.waiting.push(() => {
        this.#used = 0;
        this.#count();
        resolve();
      });
    });
  }

  #count(): void {
    this.#turn = shared.turn;
    this.#used++;
    if (shared.left-- === PARTS_OF_TURN) setImmediate(beginTurn);
  }
}

function beginTurn(): void {
  shared.turn++;
  shared.left = PARTS_OF_TURN;
  shared.share = Math.max(1, Math.floor(PARTS_OF_TURN / Math.max(1, shared.waiting.length)));
  for (const goOn of shared.waiting.splice(0, PARTS_OF_TURN)) goOn();
}
