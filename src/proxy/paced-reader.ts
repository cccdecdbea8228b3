import type { Socket } from "node:net";
import { TurnUse, turns } from "../limits/turns.ts";
import { receiveInto } from "../net/receive-into.ts";

/** Bytes that go to the parser at once: the least, what one may begin with that has time, and the most. A request may be as small as 26 bytes. */
const SLICE_BYTES = { least: 1024, first: 4 * 1024, most: 64 * 1024 };
/** A slice that took less than the one is followed by a larger, one that took more than the other by the least. */
const QUICK_MS = 0.25;
const SLOW_MS = 1;

/** Buffer for the sockets of one thread: one at a time, and no bytes of it are used later. */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);

/** A socket as node:http keeps it: paused by itself while its client takes no answers, when the parser must get nothing. */
type ParsedSocket = Socket & { readonly _paused?: boolean };

/**
 * Stands between a socket and the HTTP parser of Node, which makes all requests and pieces of bodies of one read in one go:
 * thousands, where they are tiny. What has come goes to the parser in slices of which none takes long; the rest waits in the
 * socket while others have their turns, and while the connection has enough to do.
 */
export class PacedReader {
  readonly #socket: ParsedSocket;
  readonly #parse: (bytes: Uint8Array) => void;
  readonly #hasEnough: () => boolean;
  readonly #use = new TurnUse();
  /** Node resumes sockets on several occasions; while this waits, what comes is put back. */
  #waitsFor: "turn" | "answers" | undefined;
  /** Has the turn that it waited for. */
  #isItsTurn = false;
  /** Of the slice that is being parsed. */
  #sliceBytes = 0;
  /** Largest size of the next slice. */
  #maxSliceBytes = SLICE_BYTES.first;
  /** Bytes that still belong to the body which is being read, at least. */
  #bodyBytes = 0;

  private constructor(socket: Socket, parse: (bytes: Uint8Array) => void, hasEnough: () => boolean) {
    this.#socket = socket;
    this.#parse = parse;
    this.#hasEnough = hasEnough;
    socket.on("data", (bytes: Buffer) => this.#take(bytes, false));
    receiveInto(socket, {
      writeBuffer: () => LANDING,
      commit: (bytes) => this.#take(LANDING.subarray(0, bytes), true),
    });
  }

  /**
   * Takes the place of the listener by which Node feeds its parser; undefined, and nothing is changed, where there is none.
   * While `hasEnough`, the parser gets nothing more.
   */
  static of(socket: Socket, hasEnough: () => boolean): PacedReader | undefined {
    const [parse, ...others] = socket.listeners("data") as ((bytes: Uint8Array) => void)[];
    if (parse === undefined || others.length > 0) return undefined;
    socket.off("data", parse);
    return new PacedReader(socket, parse, hasEnough);
  }

  /** Says that the head of a request with a body of so many bytes has been parsed; those need not be cut. */
  expectBody(bytes: number): void {
    this.#bodyBytes = Math.max(0, bytes - this.#sliceBytes);
  }

  /** Goes on where the connection had enough to do. */
  goOn(): void {
    if (this.#waitsFor === "answers" && !this.#hasEnough()) this.#resumeInTurn();
  }

  #take(bytes: Buffer, isBorrowed: boolean): void {
    const mayTakeMs = this.#begin();
    const taken = mayTakeMs > 0 ? this.#parseSlices(bytes, mayTakeMs) : 0;
    if (taken < bytes.length) this.#putBack(bytes.subarray(taken), isBorrowed);
  }

  #begin(): number {
    if (this.#isItsTurn) {
      this.#isItsTurn = false;
      return turns.resume(this.#use);
    }
    return this.#waitsFor === undefined ? turns.begin(this.#use) : 0;
  }

  /** Returns how many bytes the parser has taken. */
  #parseSlices(bytes: Buffer, mayTakeMs: number): number {
    const first = mayTakeMs < SLOW_MS ? SLICE_BYTES.least : SLICE_BYTES.first;
    this.#maxSliceBytes = Math.min(this.#maxSliceBytes, first);
    const began = performance.now();
    let at = 0;
    for (let now = began; at < bytes.length && now < began + mayTakeMs && this.#isOpen(); ) {
      const end = Math.min(at + Math.max(this.#maxSliceBytes, this.#bodyBytes), bytes.length);
      this.#parseSlice(bytes.subarray(at, end));
      at = end;
      const tookMs = performance.now() - now;
      this.#adapt(tookMs);
      now += tookMs;
    }
    return this.#socket.writable ? at : this.#passOver(bytes);
  }

  #adapt(tookMs: number): void {
    if (tookMs > SLOW_MS) this.#maxSliceBytes = SLICE_BYTES.least;
    else if (tookMs < QUICK_MS) this.#maxSliceBytes = Math.min(4 * this.#maxSliceBytes, SLICE_BYTES.most);
  }

  #isOpen(): boolean {
    return this.#socket.writable && !this.#socket.isPaused() && !this.#hasEnough();
  }

  #parseSlice(slice: Buffer): void {
    this.#sliceBytes = slice.length;
    this.#bodyBytes = Math.max(0, this.#bodyBytes - slice.length);
    this.#parse(slice);
    this.#sliceBytes = 0;
  }

  /** Ignores bytes after the last answer; a client that goes on when it has been sent is cut. */
  #passOver(bytes: Buffer): number {
    if (this.#socket.writableFinished) this.#socket.destroy();
    return bytes.length;
  }

  #putBack(rest: Buffer, isBorrowed: boolean): void {
    // Node resumes by itself what it has paused.
    const isPausedByNode = this.#socket.isPaused();
    this.#socket.pause();
    this.#socket.unshift(isBorrowed ? Buffer.from(rest) : rest);
    if (isPausedByNode || this.#waitsFor !== undefined) return;
    if (this.#hasEnough()) this.#waitsFor = "answers";
    else this.#resumeInTurn();
  }

  #resumeInTurn(): void {
    this.#waitsFor = "turn";
    turns.wait(this.#use, () => {
      this.#waitsFor = undefined;
      this.#isItsTurn = true;
      if (this.#socket._paused !== true) this.#socket.resume();
    });
  }
}
