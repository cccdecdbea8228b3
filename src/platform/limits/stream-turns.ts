/** Parts of answers, and messages, that a thread handles in one turn of its event loop, of all streams together. */
const MOST_PIECES = 32;
/** The same if they take long, or it is not known yet: so many of those that wait go on together. */
const LEAST_PIECES = 4;
/** Time for those that wait in a turn, in milliseconds. */
const TURN_MS = 3;

/** Pieces that wait: a client's oldest first, and one client after the other, which may have thousands. */
class WaitingPieces {
  readonly #clients = new Map<number, (() => void)[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(client: number, goOn: () => void): void {
    const pieces = this.#clients.get(client);
    if (pieces === undefined) this.#clients.set(client, [goOn]);
    else pieces.push(goOn);
    this.#size++;
  }

  /** The next ones. */
  *take(most: number): Iterable<() => void> {
    for (let left = Math.min(most, this.#size); left > 0; left--) {
      const [[client, pieces]] = this.#clients as unknown as [[number, (() => void)[]]];
      this.#clients.delete(client);
      this.#size--;
      const goOn = pieces.shift() as () => void;
      if (pieces.length > 0) this.#clients.set(client, pieces);
      yield goOn;
    }
  }
}

/** Turns of this thread's event loop, as streams share them. */
const shared = {
  /** Number of this turn. */
  turn: 0,
  /** Pieces that a turn may have, that were taken in this one, and of them those of one stream. */
  most: LEAST_PIECES,
  taken: 0,
  share: LEAST_PIECES,
  waiting: new WaitingPieces(),
  /** Ends that wait. */
  ending: new WaitingPieces(),
};

/**
 * Turns of the event loop for the parts of one answer, or the messages of one stream, in step with those of all others:
 * a generator that waits for nothing would otherwise go on until its client takes no more, and what comes for a
 * thousand streams together would be handled at once; neither others nor the news that a client has left would come
 * through.
 */
export class StreamTurns {
  readonly #client: number;
  #turn = -1;
  #used = 0;

  /** `client`: the number of the one whose stream it is, which has its turns with all its others. Default 0. */
  constructor(client = 0) {
    this.#client = client;
  }

  /** A promise if the next part or message is for a later turn of the event loop. */
  next(): Promise<void> | undefined {
    return this.#next(shared.waiting);
  }

  /** The same for the end of a stream that was left: it goes first, since what it ends takes no more turns. */
  static end(client?: number): Promise<void> | undefined {
    return new StreamTurns(client).#next(shared.ending);
  }

  #next(waiting: WaitingPieces): Promise<void> | undefined {
    if (this.#turn !== shared.turn) this.#used = 0;
    if (shared.taken < shared.most && this.#used < shared.share) {
      this.#take();
      return undefined;
    }
    return new Promise((resolve) => {
      waiting.add(this.#client, () => {
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
  shared.share = Math.max(1, Math.floor(shared.most / Math.max(1, shared.waiting.size)));
  if (shared.waiting.size + shared.ending.size > 0) goOnWithSome(performance.now());
  // The next ones may take longer than those before.
  else shared.most = LEAST_PIECES;
}

function goOnWithSome(beganAt: number): void {
  const most = Math.min(LEAST_PIECES, MOST_PIECES - shared.taken);
  // Those that wait go on beside any number of ends.
  const ends = [...shared.ending.take(shared.waiting.size > 0 ? most - 1 : most)];
  for (const goOn of [...ends, ...shared.waiting.take(most - ends.length)]) goOn();
  // A tick after the microtasks, when all that these have started is done.
  queueMicrotask(() => process.nextTick(goOnWithOthers, beganAt));
}

function goOnWithOthers(beganAt: number): void {
  const ms = performance.now() - beganAt;
  const { taken, waiting, ending } = shared;
  shared.most = Math.min(MOST_PIECES, Math.max(LEAST_PIECES, Math.floor((TURN_MS * taken) / ms)));
  if (waiting.size + ending.size > 0 && taken < MOST_PIECES && ms < TURN_MS) goOnWithSome(beganAt);
}
