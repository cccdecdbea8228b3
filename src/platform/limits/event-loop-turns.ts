import { TurnClient, WaitingPiece, WaitingWork } from "./waiting-work.ts";

/** Time for arriving data in one turn of the event loop, in milliseconds; after it, only small pieces of work begin. */
const TURN_MS = 2;
/** Time after which a turn begins no more work at all. */
const LONGEST_TURN_MS = 8;
/** The same time while there are several clients, of which each has {@link MOST_MS} at most. */
const SHARED_TURN_MS = 4;
/** Turns for which there are several clients after two of them had work. */
const SHARED_TURNS = 16;
/** Maximum time for one connection before the others are considered, in milliseconds. */
const MOST_MS = 1;
/** Time that a turn without time left still spends on the smallest waiting piece of work, in milliseconds. */
const LEAST_MS = 0.1;
/** Expected time of a connection's first piece of work, in milliseconds. */
const EXPECTED_MS = 1;
/** Lower bound of an expected time, in milliseconds. */
const LEAST_EXPECTED_MS = 0.01;
/**
 * Factor by which a piece of work must exceed its expected time to count as delayed by a garbage collection or another
 * process.
 */
const HELD_UP = 4;
/** Time for the data of a client that is alone and for all that follows from it, in milliseconds. */
const ALONE_MS = 8;
/** Lower bound of the share of a piece of work that is not what followed from it. */
const LEAST_SHARE = 0.02;

/** Bytes of a small piece of work, which comes before those of connections that send much, or may do so. */
const SMALL_BYTES = 8 * 1024;

/** Main-thread time of the pieces of work of one connection. */
export class TurnUse {
  readonly client: TurnClient;
  #expectedMs = EXPECTED_MS;
  /** Time of the current piece without what follows from it, once that is known; 0 = it is not. */
  #itselfMs = 0;
  /** Averages of pieces: what they took themselves, and with all that followed from them. */
  #ownMs: number;
  #allMs = EXPECTED_MS;

  /**
   * `client`: the one whose connection it is. Default: the server's own work, which has turns like a client. `share`:
   * that of its first piece.
   */
  constructor(client = new TurnClient(true), share = 1) {
    this.client = client;
    this.#ownMs = share * EXPECTED_MS;
  }

  /** Expected time of the next piece, from the previous ones, in milliseconds. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** Share of its pieces of work that they took themselves; the rest followed from them, as microtasks do: up to 1. */
  get share(): number {
    return Math.max(LEAST_SHARE, this.#ownMs / this.#allMs);
  }

  /** Records how long a piece took itself, before what follows from it begins. */
  took(ms: number): void {
    this.#itselfMs = ms;
  }

  /** Records how long a piece of work took, with all that followed from it. */
  learn(ms: number): void {
    const likelyMs = Math.min(ms, HELD_UP * this.#expectedMs);
    this.#expectedMs = Math.max(LEAST_EXPECTED_MS, (this.#expectedMs + likelyMs) / 2);
    if (this.#itselfMs === 0) return;
    this.#ownMs = (this.#ownMs + this.#itselfMs) / 2;
    this.#allMs = (this.#allMs + ms) / 2;
    this.#itselfMs = 0;
  }
}

/**
 * Shares the turns of the event loop among clients, and a client's among its connections. Arriving data is handled
 * immediately for a few milliseconds of each turn. The rest waits, and a turn spends as long again on waiting work: in
 * turn on the shortest piece, so that a small request does not wait for all large ones, and on the one of a client that
 * has waited longest, of one client after the other. While there are several clients, what arrives of one waits once
 * other work of it waits, or it has had its part of the turn: else one with many connections would have most of it.
 */
export class EventLoopTurns {
  readonly #waiting = new WaitingWork();
  /** Start of this turn's first work; 0 = none has started. */
  #began = 0;
  /** The connection whose work started last, and the time: work that follows from it is done before any other's. */
  #served: TurnUse | undefined;
  #servedAt = 0;
  /** The number of this turn. */
  #turn = 0;
  /** The client whose work came last, and the turn up to which it is not the only one. */
  #client: TurnClient | undefined;
  #sharedUntil = 0;
  /** True while waiting work is scheduled to continue. */
  #isScheduled = false;
  #isOldestNext = false;
  /** True while a waiting piece of work runs, which is after the arriving data of a turn was handled. */
  #isRunningWaiting = false;

  /** Begins work for a connection; returns for how many milliseconds it may run, 0 = it has to {@link wait}. */
  begin(use: TurnUse): number {
    const now = this.#end();
    if (this.#began === 0) this.#start(now);
    this.#note(use.client);
    const mayTakeMs = this.#timeFor(use, now - this.#began);
    if (mayTakeMs > 0) this.#serve(use, now);
    return mayTakeMs;
  }

  /** Begins work for a connection that has waited; to be called first by what {@link wait} calls. */
  resume(use: TurnUse): number {
    const now = this.#end();
    this.#note(use.client);
    this.#serve(use, now);
    return this.#most(use);
  }

  /** To be called when a piece of work has done its own part, before what follows from it, where that may be much. */
  did(use: TurnUse): void {
    if (this.#served === use) use.took(performance.now() - this.#servedAt);
  }

  /** Calls a function in a later turn, earlier for a piece of work that is known to be small. */
  wait(use: TurnUse, goOn: () => void, isSmall = notSmall): void {
    this.#waiting.add(new WaitingPiece(use, goOn, isSmall));
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#continue());
  }

  /** Resolves in the next turn, or in a later one if a connection's new work would have to wait. */
  next(use: TurnUse): Promise<void> {
    return new Promise((resolve) => {
      if (this.begin(use) > 0) setImmediate(resolve);
      else this.wait(use, resolve);
    });
  }

  #note(client: TurnClient): void {
    if (this.#client === client || client.isServer) return;
    if (this.#client !== undefined) this.#sharedUntil = this.#turn + SHARED_TURNS;
    this.#client = client;
  }

  #timeFor(use: TurnUse, turnMs: number): number {
    const isShared = this.#isShared;
    const { client } = use;
    if (isShared && (client.waiting.size > 0 || client.usedMs(this.#turn) >= MOST_MS)) return 0;
    if (turnMs < (isShared ? SHARED_TURN_MS : TURN_MS)) return this.#most(use);
    // For one that no waiting piece of work should take less time than.
    return turnMs <= LONGEST_TURN_MS && this.#waiting.leastMs >= use.expectedMs
      ? Math.min(LEAST_MS, this.#most(use))
      : 0;
  }

  get #isShared(): boolean {
    return this.#turn <= this.#sharedUntil;
  }

  /** Time that a piece may take itself, so that it and what follows from it take no longer than they may. */
  #most({ share }: TurnUse): number {
    return Math.min(MOST_MS, share * (this.#isShared ? MOST_MS : ALONE_MS));
  }

  #serve(use: TurnUse, now: number): void {
    this.#served = use;
    this.#servedAt = now;
  }

  /** Ends a piece of work. */
  #end(): number {
    const now = performance.now();
    const served = this.#served;
    if (served === undefined) return now;
    const tookMs = now - this.#servedAt;
    served.learn(tookMs);
    served.client.spend(this.#turn, tookMs);
    this.#waiting.update(served);
    this.#served = undefined;
    return now;
  }

  #start(now: number): void {
    this.#began = now;
    this.#turn++;
    if (!this.#isRunningWaiting) setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#end();
    this.#began = 0;
  }

  #continue(until = performance.now() + TURN_MS): void {
    const isNewTurn = this.#began === 0;
    this.#isRunningWaiting = true;
    this.#takeNext().goOn();
    // A tick after the microtasks, when all work that this piece started is done.
    queueMicrotask(() => process.nextTick(() => this.#goOn(until, isNewTurn)));
  }

  #goOn(until: number, isNewTurn: boolean): void {
    const now = this.#end();
    this.#isRunningWaiting = false;
    // The turn that this piece began ends here; otherwise its time would be taken from the data that is read next.
    if (isNewTurn && this.#began !== 0) this.#endTurn();
    this.#isScheduled = this.#waiting.size > 0;
    if (!this.#isScheduled) return;
    if (now < until) this.#continue(until);
    else setImmediate(() => this.#continue());
  }

  #takeNext(): WaitingPiece {
    this.#isOldestNext = !this.#isOldestNext;
    return this.#isOldestNext ? this.#waiting.takeOldest() : this.#waiting.takeSmallest();
  }
}

/** True if a piece of work with so many bytes counts as small. */
export function isSmallPiece(bytes: number): boolean {
  return bytes <= SMALL_BYTES;
}

function notSmall(): boolean {
  return false;
}

/** The turns of this process's main thread. */
export const turns = new EventLoopTurns();

/** Bytes that are copied at once: in new memory they take up to a millisecond. */
const COPIED_BYTES = 1024 * 1024;
/** All copies have the turns of one client: whose they are is not known. */
const copying = new TurnClient(true);

/** Copies pieces one after the other into a buffer, in turns with other work. */
export class CopyInTurns {
  readonly #target: Uint8Array;
  readonly #use = new TurnUse(copying);
  #at = 0;
  #copiedBytes = 0;

  constructor(target: Uint8Array) {
    this.#target = target;
  }

  /** Copies a piece, which must not change until then, behind those before it. */
  async add(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length; at += COPIED_BYTES) {
      const part = piece.subarray(at, at + COPIED_BYTES);
      this.#target.set(part, this.#at);
      this.#at += part.length;
      this.#copiedBytes += part.length;
      if (this.#copiedBytes < COPIED_BYTES) continue;
      this.#copiedBytes = 0;
      await turns.next(this.#use);
    }
  }
}
