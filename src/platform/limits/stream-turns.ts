/** Parts of answers, and messages, that a thread handles in one turn of its event loop, of all streams together. */
const MOST_PIECES = 32;
/** The same if they take long: so many of those that wait go on together. */
const LEAST_PIECES = 4;
/** Time for those that wait in a turn, in milliseconds. */
const TURN_MS = 3;

/** Turns of this thread's event loop, as streams share them. */
const shared = {
  /** Number of this turn. */
  turn: 0,
  /** Pieces that a turn may have, that were taken in this one, and of them those of one stream. */
  most: MOST_PIECES,
  taken: 0,
  share: MOST_PIECES,
  waiting: [] as (() => void)[],
  /** Ends that wait. */
  ending: [] as (() => void)[],
};

/**
 * Turns of the event loop for the parts of one answer, or the messages of one stream, in step with those of all others:
 * a generator that waits for nothing would otherwise go on until its client takes no more, and what comes for a
 * thousand streams together would be handled at once; neither others nor the news that a client has left would come
 * through.
 */
export class StreamTurns {
  #turn = -1;
  #used = 0;

  /** A promise if the next part or message is for a later turn of the event loop. */
  next(): Promise<void> | undefined {
    return this.#next(shared.waiting);
  }

  /** The same for the end of a stream that was left: it goes first, since what it ends takes no more turns. */
  static end(): Promise<void> | undefined {
    return new StreamTurns().#next(shared.ending);
  }

  #next(waiting: (() => void)[]): Promise<void> | undefined {
    if (this.#turn !== shared.turn) this.#used = 0;
    if (shared.taken < shared.most && this.#used < shared.share) {
      this.#take();
      return undefined;
    }
    return new Promise((resolve) => {
      waiting.push(() => {
        this.#used = 0;
        this.#take();
        resolve();
      });
    });
  }

  #take(): void {
    this.#turn = shared.turn;
    this.#used++;
    if (shared.taken++ === 0) setImmediate(beginTurn);
  }
}

function beginTurn(): void {
  shared.turn++;
  shared.taken = 0;
  shared.share = Math.max(1, Math.floor(shared.most / Math.max(1, shared.waiting.length)));
  if (shared.waiting.length + shared.ending.length > 0) goOnWithSome(performance.now());
}

function goOnWithSome(beganAt: number): void {
  const most = Math.min(LEAST_PIECES, MOST_PIECES - shared.taken);
  const ends = shared.ending.splice(0, most);
  for (const goOn of [...ends, ...shared.waiting.splice(0, most - ends.length)]) goOn();
  // A tick after the microtasks, when all that these have started is done.
  queueMicrotask(() => process.nextTick(goOnWithOthers, beganAt));
}

function goOnWithOthers(beganAt: number): void {
  const ms = performance.now() - beganAt;
  const { taken, waiting, ending } = shared;
  shared.most = Math.min(MOST_PIECES, Math.max(LEAST_PIECES, Math.floor((TURN_MS * taken) / ms)));
  if (waiting.length + ending.length > 0 && taken < MOST_PIECES && ms < TURN_MS) goOnWithSome(beganAt);
}
