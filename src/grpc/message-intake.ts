import type { Metadata, ServerInterceptor } from "@grpc/grpc-js";
import { ServingError } from "../errors.ts";
import { ByteList } from "../limits/byte-list.ts";
import { inflate, isCompression } from "../limits/inflate.ts";
import type { MemoryBudget, MemoryShare } from "../limits/memory-budget.ts";
import type { Logger } from "../observability/logger.ts";
import { linkRecord } from "./call-records.ts";
import { toGrpcStatus } from "./grpc-errors.ts";
import { type CallInternals, callInternals } from "./grpc-internals.ts";
import { tooSlow } from "./message-reader.ts";
import type { SendWatch } from "./send-watch.ts";

/** What arriving messages are held to. */
export interface IntakeLimits {
  /** The largest message taken, after inflation. */
  readonly maxMessageBytes: number;
  /** Where the bytes of all requests are counted. */
  readonly memory: MemoryBudget;
  /** How long a message may take to come, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Cuts who does not take the answers. */
  readonly sends: SendWatch;
}

/** Methods of gRPC's own services, whose messages are a few names. */
const OWN_METHODS = /^\/grpc\./;
const MAX_OWN_MESSAGE_BYTES = 64 * 1024;

/** Each message is preceded by a byte that says whether it is compressed, and four for its length. */
const HEADER_BYTES = 5;

/**
 * Gathers and inflates the messages of calls that go through grpc-js, in its place: it keeps an object for every piece, so
 * that a message in pieces of one byte takes a hundred times its size, and bounds each message but not all together.
 * Changes nothing, and warns with the first call, if this grpc-js has no place for it.
 */
export function createIntake(
  { maxMessageBytes, memory, messageTimeoutMs, sends }: IntakeLimits,
  log: Logger,
): ServerInterceptor {
  let hasWarned = false;
  return ({ path, requestStream }, intercepted) => {
    const call = callInternals(intercepted);
    if (call !== undefined) {
      const maxBytes = OWN_METHODS.test(path) ? Math.min(maxMessageBytes, MAX_OWN_MESSAGE_BYTES) : maxMessageBytes;
      const rules = { maxBytes, memory: memory.open(), messageTimeoutMs, isStream: requestStream };
      intakes.set(call.metadata, new MessageIntake(call, rules));
      sends.watchWrites(call.stream);
      linkRecord(call.metadata, call.stream);
    } else if (!hasWarned) {
      hasWarned = true;
      log.warn("gRPC messages are not counted: this version of @grpc/grpc-js has no place for our intake");
    }
    return intercepted as ReturnType<ServerInterceptor>;
  };
}

/** By the metadata of their call, which handlers get. */
const intakes = new WeakMap<Metadata, MessageIntake>();

/** The memory of a call that goes through grpc-js, which its handler has to give back. */
export interface CallMemory {
  /** Holds the lengths of the messages that came. */
  readonly share: MemoryShare;
  /** Sets what is held to the length of an answer, and gives it back once the call has closed; throws `unavailable` where there is no room. */
  holdUntilSent(bytes: number): void;
}

/** The memory of a call; undefined where nothing is counted. The messages of a stream for which no handler asks are counted only while they arrive. */
export function takeCallMemory(metadata: Metadata): CallMemory | undefined {
  return intakes.get(metadata)?.handOver();
}

interface IntakeRules {
  readonly maxBytes: number;
  readonly memory: MemoryShare;
  readonly messageTimeoutMs: number;
  /** Whether the call goes on after a message. */
  readonly isStream: boolean;
}

class MessageIntake implements CallMemory {
  readonly #call: CallInternals;
  readonly #rules: IntakeRules;
  /** The message that is not complete, its header included. */
  #pending = new ByteList();
  #neededBytes = HEADER_BYTES;
  #isHandedOver = false;
  #isClosed = false;
  #isSending = false;
  /** Runs while there is a message that is not complete, or a call that should have ended with it. */
  #timer: NodeJS.Timeout | undefined;

  constructor(call: CallInternals, rules: IntakeRules) {
    this.#call = call;
    this.#rules = rules;
    call.decoder = this;
    if (call.incomingEncoding !== "identity") {
      call.decompressMessage = (framed, encoding) => this.#inflate(framed.subarray(HEADER_BYTES), encoding);
    }
    call.stream.once("end", () => clearTimeout(this.#timer));
    call.stream.once("close", () => {
      clearTimeout(this.#timer);
      this.#isClosed = true;
      if (!this.#isHandedOver || this.#isSending) rules.memory.release();
    });
  }

  handOver(): CallMemory {
    this.#isHandedOver = true;
    return this;
  }

  get share(): MemoryShare {
    return this.#rules.memory;
  }

  holdUntilSent(bytes: number): void {
    if (this.#isClosed) {
      this.share.release();
      return;
    }
    this.share.setTo(bytes);
    this.#isSending = true;
  }

  /** Takes what arrived; returns the messages that are complete, with their headers. */
  write(data: Buffer): Buffer[] {
    try {
      this.#rules.memory.grow(data.length);
    } catch (reason) {
      this.#refuse(reason);
      return [];
    }
    const messages = this.#isOneMessage(data) ? [data] : this.#split(data);
    if (messages.length > 0) this.#countOut(messages);
    this.#limitTime(messages.length > 0);
    return messages;
  }

  /** A client that sends a byte a minute would hold its memory for ever. */
  #limitTime(isNext: boolean): void {
    const { isStream, messageTimeoutMs } = this.#rules;
    if (isNext && isStream) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (isStream && this.#pending.length === 0) return;
    this.#timer ??= setTimeout(() => this.#refuse(tooSlow(messageTimeoutMs)), messageTimeoutMs);
  }

  /** Headers are not kept; nor are messages of which nobody will say that they are done. */
  #countOut(messages: readonly Buffer[]): void {
    const { memory, isStream } = this.#rules;
    if (isStream && !this.#isHandedOver) memory.empty();
    else memory.shrink(messages.length * HEADER_BYTES);
  }

  #refuse(reason: unknown): void {
    this.#pending = new ByteList();
    this.#rules.memory.release();
    this.#call.sendStatus(toGrpcStatus(reason));
  }

  #isOneMessage(data: Buffer): boolean {
    if (this.#pending.length > 0 || data.length < HEADER_BYTES) return false;
    return this.#claimedBytes(data) === data.length - HEADER_BYTES;
  }

  #split(data: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    for (let start = 0; start < data.length; ) start = this.#gather(data, start, messages);
    return messages;
  }

  /** Adds what belongs to the message at hand; returns where the rest starts. */
  #gather(data: Buffer, start: number, messages: Buffer[]): number {
    const end = Math.min(start + this.#neededBytes - this.#pending.length, data.length);
    this.#pending.append(data.subarray(start, end));
    if (this.#pending.length === HEADER_BYTES && this.#neededBytes === HEADER_BYTES) this.#expect();
    if (this.#pending.length < this.#neededBytes) return end;
    messages.push(toBuffer(this.#pending.contents()));
    this.#pending = new ByteList();
    this.#neededBytes = HEADER_BYTES;
    return end;
  }

  #expect(): void {
    this.#neededBytes += this.#claimedBytes(toBuffer(this.#pending.contents()));
    this.#pending.expect(this.#neededBytes);
  }

  /** grpc-js makes what this throws a RESOURCE_EXHAUSTED with the same text. */
  #claimedBytes(header: Buffer): number {
    const bytes = header.readUInt32BE(1);
    if (bytes <= this.#rules.maxBytes) return bytes;
    throw new Error(`Received message larger than max (${bytes} vs ${this.#rules.maxBytes})`);
  }

  /** Rejects with a status, as grpc-js expects. */
  async #inflate(message: Uint8Array, encoding: string): Promise<Uint8Array> {
    if (encoding === "identity") return message;
    try {
      if (!isCompression(encoding)) throw unknownEncoding(encoding);
      const inflated = await inflate(message, encoding, this.#rules);
      this.#rules.memory.shrink(message.length);
      return toBuffer(inflated);
    } catch (reason) {
      throw toGrpcStatus(reason);
    }
  }
}

function unknownEncoding(encoding: string): ServingError {
  return new ServingError(
    "unimplemented",
    `grpc-encoding "${encoding}" is not supported; send gzip, deflate or identity.`,
  );
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
