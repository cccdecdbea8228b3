import type { Socket } from "node:net";
import { isSmallPiece, TurnUse, turns } from "../platform/limits/event-loop-turns.ts";
import { turnClientOf } from "../platform/limits/open-connections.ts";
import { carrierSocketOf, receiveInto } from "../platform/net/node-members.ts";

/** Bytes between two looks at the clock, and those that a frame counts besides its own: a small one is work too. */
const BYTES_PER_LOOK = 32 * 1024;
const FRAME_COST_BYTES = 4 * 1024;

/** Share of a first piece of work that its frames should take, the rest being of the calls that they begin. */
const FIRST_SHARE = 0.2;

/**
 * Memory of one thread's sockets, used for one read at a time: it stays in the processor's caches, which new memory for
 * each read does not.
 */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);

/** Takes one frame, or a part of one, from the given index on; returns the next index. */
type TakeFrame = (bytes: Buffer, at: number) => number;

/**
 * The received bytes of one connection, which are taken for as long as a turn of the event loop has time for it. The
 * rest is kept for a later turn, and no more is read until then. It waits there as other connections' does, which are
 * served in turn for a millisecond each: of one client after the other the one that has waited longest, and that which
 * should take least. So a connection that always has a rest gets no more than one whose data has just come.
 */
export class PacedInput {
  readonly #socket: Socket;
  readonly #takeFrame: TakeFrame;
  readonly #use: TurnUse;
  /** Chunks that were received and not taken; of the first one those bytes before an index were. */
  #kept: Buffer[] = [];
  #keptAt = 0;
  #isStopped = false;

  constructor(socket: Socket, takeFrame: TakeFrame) {
    this.#socket = socket;
    this.#takeFrame = takeFrame;
    this.#use = new TurnUse(turnClientOf(carrierSocketOf(socket)), FIRST_SHARE);
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    receiveInto(socket, {
      writeBuffer: () => LANDING,
      commit: (bytes) => this.#receive(LANDING.subarray(0, bytes)),
    });
  }

  /** Takes no more, and discards what the client still sends. */
  stop(): void {
    this.#isStopped = true;
    this.#kept = [];
    this.#socket.resume();
  }

  #receive(bytes: Buffer): void {
    if (this.#isStopped) return;
    // A paused socket gives what it has read before.
    if (this.#kept.length > 0) {
      this.#kept.push(owned(bytes));
      return;
    }
    this.#kept.push(bytes);
    const mayTakeMs = turns.begin(this.#use);
    if (mayTakeMs > 0 && this.#take(mayTakeMs)) return;
    this.#kept = this.#kept.map((chunk) => owned(chunk.subarray(this.#keptAt)));
    this.#keptAt = 0;
    this.#wait();
  }

  /** Takes frames for some time; returns true once there are none. */
  #take(ms: number): boolean {
    let bytesLeft = BYTES_PER_LOOK;
    let until = 0;
    for (let chunk = this.#kept[0]; chunk !== undefined; chunk = this.#kept[0]) {
      while (this.#keptAt < chunk.length && !this.#isStopped) {
        const start = this.#keptAt;
        this.#keptAt = this.#takeFrame(chunk, start);
        bytesLeft -= FRAME_COST_BYTES + this.#keptAt - start;
        if (bytesLeft > 0 || this.#isStopped) continue;
        bytesLeft = BYTES_PER_LOOK;
        const now = performance.now();
        if (until === 0) until = now + ms;
        else if (now >= until) return this.#end(false);
      }
      this.#keptAt = 0;
      this.#kept.shift();
    }
    return until === 0 || this.#end(true);
  }

  /** Ends what was taken in one piece, from which more work may follow than it was: calls that begin and end. */
  #end(isAll: boolean): boolean {
    turns.did(this.#use);
    return isAll;
  }

  #wait(): void {
    this.#socket.pause();
    turns.wait(
      this.#use,
      () => this.#goOn(),
      () => isSmallPiece(this.#keptBytes),
    );
  }

  get #keptBytes(): number {
    return this.#kept.reduce((bytes, chunk) => bytes + chunk.length, -this.#keptAt);
  }

  #goOn(): void {
    const mayTakeMs = turns.resume(this.#use);
    if (!this.#take(mayTakeMs)) this.#wait();
    else if (!this.#isStopped) this.#socket.resume();
  }
}

/** The bytes, in memory that no later read changes. */
function owned(bytes: Buffer): Buffer {
  return bytes.buffer === LANDING.buffer ? Buffer.from(bytes) : bytes;
}
