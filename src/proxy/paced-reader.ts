import type { Socket } from "node:net";
import { isSmallPiece, TurnUse, turns } from "../platform/limits/event-loop-turns.ts";
import { isPausedByHttp, receiveInto } from "../platform/net/node-members.ts";
import { StreamSocket } from "./stream-socket.ts";

/**
 * Bytes for the parser at once: the minimum, the first size if there is time, and the maximum. The smallest request
 * has 26 bytes.
 */
const SLICE_BYTES = { least: 1024, first: 4 * 1024, most: 64 * 1024 };
/**
 * Time limits: a slice that took less than the first is followed by a larger one, one that took more than the second by
 * one of minimum size.
 */
const QUICK_MS = 0.25;
const SLOW_MS = 1;

/** Buffer for the sockets of one thread, used for one read at a time. */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Feeds Node's HTTP parser from a socket. The parser would create all requests and body pieces of one read at once,
 * which can be thousands of tiny ones. Received data is parsed in short slices; the rest waits in the socket while
 * other connections have their turns, and while this one has enough requests.
 */
export class PacedReader {
  readonly #socket: Socket;
  readonly #parse: (bytes: Uint8Array) => void;
  readonly #hasEnough: () => boolean;
  readonly #use: TurnUse;
  /** Node resumes sockets on several occasions; data that arrives while this waits is put back. */
  #waitsFor: "turn" | "answers" | undefined;
  /** True in the turn that it waited for. */
  #isItsTurn = false;
  /** Bytes of the slice that is being parsed. */
  #sliceBytes = 0;
  /** Size limit of the next slice. */
  #maxSliceBytes = SLICE_BYTES.first;
  /** Minimum number of bytes left in the body that is being read. */
  #bodyBytes = 0;

  private constructor(socket: Socket, parse: (bytes: Uint8Array) => void, hasEnough: () => boolean) {
    this.#socket = socket;
    this.#parse = parse;
    this.#hasEnough = hasEnough;
    this.#use = new TurnUse(StreamSocket.turnClientOf(socket));
    socket.on("data", (bytes: Buffer) => this.#take(bytes, false));
    receiveInto(socket, {
      writeBuffer: () => LANDING,
      commit: (bytes) => this.#take(LANDING.subarray(0, bytes), true),
    });
  }

  /**
   * Replaces the listener by which Node feeds its parser; undefined, without effect, if there is none.
   * While `hasEnough` returns true, the parser gets no more data.
   */
  static of(socket: Socket, hasEnough: () => boolean): PacedReader | undefined {
    const [parse, ...others] = socket.listeners("data") as ((bytes: Uint8Array) => void)[];
    if (parse === undefined || others.length > 0) return undefined;
    socket.off("data", parse);
    return new PacedReader(socket, parse, hasEnough);
  }

  /** Reports the length of a body whose head has been parsed; its bytes need no slices. */
  expectBody(bytes: number): void {
    this.#bodyBytes = Math.max(0, bytes - this.#sliceBytes);
  }

  /** Continues after the connection had enough requests. */
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

  /** Returns the number of bytes that the parser has taken. */
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

  /** Ignores bytes after the last answer; destroys the connection of a client that still sends then. */
  #passOver(bytes: Buffer): number {
    if (this.#socket.writableFinished) this.#socket.destroy();
    return bytes.length;
  }

  #putBack(rest: Buffer, isBorrowed: boolean): void {
    // Node itself resumes sockets that it has paused.
    const isPausedByNode = this.#socket.isPaused();
    this.#socket.pause();
    // What has just been received may come behind what waits: an encrypted socket delivers some after a pause.
    if (isBorrowed) this.#socket.push(Buffer.from(rest));
    else this.#socket.unshift(rest);
    if (isPausedByNode || this.#waitsFor !== undefined) return;
    if (this.#hasEnough()) this.#waitsFor = "answers";
    else this.#resumeInTurn();
  }

  #resumeInTurn(): void {
    this.#waitsFor = "turn";
    const goOn = () => {
      this.#waitsFor = undefined;
      this.#isItsTurn = true;
      // Else the parser would get data while the client does not read its answers.
      if (!isPausedByHttp(this.#socket)) this.#socket.resume();
    };
    turns.wait(this.#use, goOn, () => isSmallPiece(this.#socket.readableLength));
  }
}
