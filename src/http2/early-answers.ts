import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";

/** Most requests that wait for their reset. */
const MOST_WAITING = 1000;

const { lateBytes: MOST_LATE_BYTES } = TRANSPORT_LIMITS;

/** The session of requests that are answered early. */
interface EarlyOwner {
  /** Calls back once the other side has read all that was sent before. */
  ping(read: () => void): void;
  /** Lets the client send more of a request. */
  widen(id: number, bytes: number): void;
  /** Resets a request that its client has not ended. */
  resetUnended(id: number): void;
}

/** A request that its client goes on sending. */
interface Unfinished {
  readonly id: number;
  /** Bytes that have come since the answer: until now, and until the client was last seen to have read it. */
  lateBytes: number;
  knownBytes: number;
}

/**
 * Requests that were answered before they had ended: a client need not send the rest (RFC 9113 §8.1). They are reset
 * once it has read the answer: one of node:http2 with much to send never learns of an answer that it reads together
 * with the reset. A client that goes on sending may do so for some megabytes: what one of node:http2 had still to send
 * counts as memory of its connection for ever, and from 10 MB on that refuses all answers.
 */
export class EarlyAnswers {
  readonly #owner: EarlyOwner;
  #waiting: Unfinished[] = [];
  readonly #byId = new Map<number, Unfinished>();
  #isPinging = false;

  constructor(owner: EarlyOwner) {
    this.#owner = owner;
  }

  /** Adds a stream whose answer is being sent. */
  add(id: number): void {
    const request = { id, lateBytes: 0, knownBytes: 0 };
    this.#byId.set(id, request);
    this.#owner.widen(id, MOST_LATE_BYTES);
    if (this.#waiting.push(request) > MOST_WAITING) for (const each of this.#waiting.splice(0)) this.#reset(each);
    if (this.#isPinging) return;
    this.#isPinging = true;
    // Behind all answers of this write.
    queueMicrotask(() => this.#ping());
  }

  /** Counts data of a stream that was answered. */
  late(id: number, bytes: number, isLast: boolean): void {
    const request = this.#byId.get(id);
    if (request !== undefined) request.lateBytes += bytes;
    if (isLast) this.#byId.delete(id);
  }

  #ping(): void {
    const requests = this.#waiting.splice(0);
    this.#isPinging = requests.length > 0;
    if (!this.#isPinging) return;
    // Data may come together with the sign that the answer was read.
    this.#owner.ping(() => setImmediate(() => this.#read(requests)));
  }

  #read(requests: readonly Unfinished[]): void {
    for (const request of requests) {
      const { lateBytes, knownBytes } = request;
      request.knownBytes = lateBytes;
      if (lateBytes > knownBytes && lateBytes <= MOST_LATE_BYTES) this.#waiting.push(request);
      else this.#reset(request);
    }
    this.#ping();
  }

  /** Nothing is to be done once the client has ended it. */
  #reset({ id }: Unfinished): void {
    if (this.#byId.delete(id)) this.#owner.resetUnended(id);
  }
}
