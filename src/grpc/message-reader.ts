import { ByteList } from "../byte-list.ts";
import { ServingError } from "../errors.ts";
import type { MemoryShare } from "../serving/memory-budget.ts";

/** Bytes that gRPC puts before each message: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;

/** Why a message is given up that takes so long to come. */
export function tooSlow(timeoutMs: number): ServingError {
  return new ServingError(
    "deadline_exceeded",
    `The message has not come whole within ${timeoutMs} ms; send it faster.`,
  );
}

/** What a message is held to. */
export interface MessageLimits {
  readonly maxBytes: number;
  /** Where its bytes are counted. */
  readonly memory: MemoryShare;
}

/** Puts the only message of a unary call together from the pieces that its stream brings, however small they are. */
export class MessageReader {
  readonly #limits: MessageLimits;
  /** With its prefix. */
  #bytes = new ByteList();
  /** With its prefix; undefined while that is not there. */
  #neededBytes: number | undefined;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
  }

  /** Takes the next piece; throws, and is of no use any more, as soon as the message is known to be one that cannot be taken. */
  add(piece: Buffer): void {
    this.#limits.memory.grow(piece.length);
    this.#bytes.append(piece);
    this.#neededBytes ??= this.#readPrefix();
    if (this.#neededBytes !== undefined && this.#bytes.length > this.#neededBytes) {
      throw new ServingError("unimplemented", "Received a second request message for a unary method");
    }
  }

  /** The whole message, once the stream has ended; throws when it is not whole. Small ones view what the stream brought. */
  finish(): Uint8Array {
    if (this.#bytes.length !== this.#neededBytes) {
      throw new ServingError("unimplemented", "Received no whole request message for a unary method");
    }
    this.#limits.memory.shrink(PREFIX_BYTES);
    return this.#bytes.contents().subarray(PREFIX_BYTES);
  }

  #readPrefix(): number | undefined {
    if (this.#bytes.length < PREFIX_BYTES) return undefined;
    const prefix = this.#bytes.contents();
    if (prefix[0] !== 0) {
      throw new ServingError("unimplemented", "The message is compressed, but no grpc-encoding says how");
    }
    const { maxBytes } = this.#limits;
    const length = new DataView(prefix.buffer, prefix.byteOffset).getUint32(1);
    if (length > maxBytes) {
      throw new ServingError("resource_exhausted", `Received message larger than max (${length} vs ${maxBytes})`);
    }
    this.#bytes.expect(PREFIX_BYTES + length);
    return PREFIX_BYTES + length;
  }
}
