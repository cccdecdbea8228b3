import type { MessageRoute } from "./message-route.ts";

/** A reader of a client's bytes, and bytes that it should take. */
export interface Decoder {
  readonly name: string;
  readonly samples: readonly Buffer[];
  /** Throws ServingError and nothing else. */
  readonly decode: (bytes: Buffer) => unknown;
  /**
   * The call by which clients send such bytes; undefined where they send none, or where another decoder has the call.
   */
  readonly route?: MessageRoute;
  /** Makes right what a change makes wrong without being seen, such as sums of its bytes. */
  readonly repair?: (bytes: Buffer) => Buffer;
  /** Milliseconds of one core for any input, where that is more than others take. */
  readonly maxMs?: number;
}
