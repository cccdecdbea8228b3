import type { Readable } from "node:stream";
import { ServingError } from "../errors.ts";
import { MemoryBudget } from "../limits/memory/memory-budget.ts";
import type { MemoryShare } from "../limits/memory/memory-share.ts";
import { MessageArrival } from "../limits/memory/message-arrival.ts";

/** Members by which the parts of a call lead from one to the next; grpc-js has them, but does not document them. */
interface CallPart {
  readonly nextCall?: CallPart;
  readonly call?: CallPart;
  readonly child?: CallPart;
  readonly underlyingCalls?: readonly { readonly call?: CallPart }[];
  readonly http2Stream?: Readable;
}

/** Parts of a call at most. */
const MAX_PARTS = 10;

/**
 * Counts the bytes of an answer as they come, in the memory of its request, or in a budget, and cancels the call where
 * there is no room for them, or they come too slowly once they have begun.
 */
export class ArrivalLimit {
  /** The reason for which it has cancelled the call. */
  failure: ServingError | undefined;
  readonly #given: MemoryShare | MemoryBudget | undefined;
  readonly #cancel: () => void;
  #memory: MemoryShare | undefined;
  #arrival: MessageArrival | undefined;

  constructor(memory: MemoryShare | MemoryBudget | undefined, cancel: () => void) {
    this.#given = memory;
    this.#cancel = cancel;
  }

  /**
   * Begins once a call has its headers. Where this version of grpc-js shows no stream, the answer is counted when it is
   * there.
   */
  begin(call: object): void {
    const stream = streamOf(call);
    const given = this.#given;
    if (stream === undefined || given === undefined) return;
    const memory = given instanceof MemoryBudget ? given.open() : given;
    const arrival = new MessageArrival(memory, (reason) => this.#fail(reason), true);
    // Until the first byte the server computes.
    arrival.isClientsTurn = false;
    this.#memory = memory;
    this.#arrival = arrival;
    memory.watch();
    stream.on("data", (piece: Buffer) => this.#add(arrival, piece.length));
  }

  /** Ends the count; what was counted is released. */
  stop(): void {
    this.#arrival?.done();
    this.#memory?.shrink(this.#arrival?.countedBytes ?? 0);
    this.#arrival = undefined;
    if (this.#memory !== this.#given) this.#memory?.release();
  }

  #add(arrival: MessageArrival, bytes: number): void {
    if (this.#arrival !== arrival) return;
    arrival.isClientsTurn = true;
    try {
      arrival.add(bytes);
    } catch (reason) {
      this.#fail(ServingError.from(reason));
    }
  }

  #fail(reason: ServingError): void {
    this.failure ??= reason;
    this.stop();
    this.#cancel();
  }
}

function streamOf(call: object): Readable | undefined {
  let part: CallPart | undefined = call;
  for (let count = 0; part !== undefined && part !== null && count < MAX_PARTS; count++) {
    if (part.http2Stream !== undefined) return part.http2Stream;
    part = part.nextCall ?? part.call ?? part.child ?? part.underlyingCalls?.at(-1)?.call;
  }
  return undefined;
}
