import type { Readable } from "node:stream";
import type { Client, Metadata, MetadataOptions } from "@grpc/grpc-js";
import { ServingError, STATUS } from "../../errors.ts";
import { type Compression, inflate, isCompression } from "../../platform/limits/compression.ts";
import { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import type { Transfer } from "../../platform/limits/overload-manager.ts";

/** Members by which the parts of a call lead from one to the next; grpc-js has them, but does not document them. */
interface CallPart {
  readonly nextCall?: CallPart;
  readonly call?: CallPart;
  readonly child?: CallPart;
  readonly underlyingCalls?: readonly { readonly call?: CallPart }[];
  readonly http2Stream?: Readable;
  readonly decoder?: MessageDecoder;
  /** Messages that are whole, but for which no one has asked yet. */
  readonly unpushedReadMessages?: readonly unknown[];
}

/** The message of which grpc-js has a part. */
interface MessageDecoder {
  /** 0 = there is none. */
  readonly readState: number;
  readonly readMessageSize: number;
  readonly readMessageRemaining: number;
}

/** Parts of a call at most. */
const MAX_PARTS = 10;

/** Memory of one piece of a message beyond its bytes, and of one message: a server may send any number of tiny ones. */
const PIECE_BYTES = 128;
const MESSAGE_BYTES = 512;

/** Memory of a request that counts it, or the budget of those that count none; undefined = nothing is counted. */
type Counted = MemoryShare | MemoryBudget | undefined;

/**
 * Counts the bytes of an answer as they come, in memory that is released in the end, and cancels the call if there is
 * no room for them, or they come too slowly once they have begun. Where this version of grpc-js shows no stream, the
 * answer is counted when it is there.
 */
export class ArrivalLimit implements Transfer {
  /** The reason for which it has cancelled the call. */
  failure: ServingError | undefined;
  readonly isFromBackend = true;
  readonly stepBytes = 0;
  movedBytes = 0;
  /** The part of the call that receives. */
  protected receiver: Receiver | undefined;
  protected arriving: MemoryShare | undefined;
  protected readonly given: Counted;
  /** True once nothing of the call is counted any more. */
  protected isStopped = false;
  readonly #cancel: () => void;

  constructor(given: Counted, cancel: () => void) {
    this.given = given;
    this.#cancel = cancel;
  }

  /** Until the first byte the server computes. */
  get isClientsTurn(): boolean {
    return this.movedBytes > 0 || this.isWithin;
  }

  /** True while a message has come in part. */
  protected get isWithin(): boolean {
    return (this.receiver?.decoder?.readState ?? 0) !== 0;
  }

  get leftBytes(): number {
    return this.receiver?.decoder?.readMessageRemaining ?? this.movedBytes;
  }

  /** Begins once a call has its headers. */
  begin(call: object): void {
    if (this.isStopped) return;
    const receiver = receiverOf(call);
    const arriving = openShare(this.given);
    if (receiver === undefined || arriving === undefined) {
      arriving?.release();
      return;
    }
    this.receiver = receiver;
    this.arriving = arriving;
    arriving.receiving = this;
    arriving.watch();
    const { http2Stream: stream } = receiver;
    const push = stream.push.bind(stream);
    // A paused stream takes as much as its window allows, without an event.
    stream.push = (piece: Buffer | null, encoding) => {
      if (piece !== null) this.#arrive(piece.length);
      return push(piece, encoding);
    };
  }

  /** Ends the count; what was counted is released. */
  stop(): void {
    this.isStopped = true;
    this.receiver = undefined;
    this.arriving?.release();
    this.arriving = undefined;
  }

  end(reason: ServingError): void {
    this.failure ??= reason;
    this.stop();
    this.#cancel();
  }

  #arrive(bytes: number): void {
    this.movedBytes += bytes;
    this.count(() => this.arriving?.grow(bytes + PIECE_BYTES));
  }

  /** Counts something for which there may be no room. */
  protected count(step: () => void): void {
    try {
      step();
    } catch (reason) {
      this.end(ServingError.from(reason));
    }
  }
}

/**
 * The same for an answer in parts, each of which counts until its reader has done with it. Between its parts a server
 * computes, and while none is asked for it is not waited for.
 */
export class PartsLimit extends ArrivalLimit {
  #held: MemoryShare | undefined;

  override get isClientsTurn(): boolean {
    return this.isWithin && this.receiver?.http2Stream.isPaused() === false;
  }

  /** To be called with the size of each part once it is whole. */
  hold(bytes: number): void {
    const { receiver } = this;
    if (receiver !== undefined) this.count(() => this.arriving?.setTo(bytesIn(receiver)));
    if (this.failure !== undefined || this.isStopped) return;
    this.#held ??= openShare(this.given);
    this.count(() => this.#held?.grow(bytes));
  }

  /** To be called with the size of each part that its reader gets. */
  give(bytes: number): void {
    if (this.given !== undefined && !(this.given instanceof MemoryBudget)) this.given.partBytes = bytes;
  }

  /** To be called once a part is not needed any more. */
  done(bytes: number): void {
    this.#held?.shrink(bytes);
  }

  override stop(): void {
    super.stop();
    this.#held?.release();
    this.give(0);
  }
}

function openShare(given: Counted): MemoryShare | undefined {
  return given instanceof MemoryBudget ? given.open() : given?.split(0, true);
}

/** Bytes that have come, but not as parts. */
function bytesIn({ http2Stream, decoder, unpushedReadMessages = [] }: Receiver): number {
  const { readState = 0, readMessageSize = 0, readMessageRemaining = 0 } = decoder ?? {};
  const begun = readState === 0 ? 0 : readMessageSize - readMessageRemaining;
  return http2Stream.readableLength + begun + MESSAGE_BYTES * unpushedReadMessages.length;
}

type Receiver = CallPart & Required<Pick<CallPart, "http2Stream">>;

function receiverOf(call: object): Receiver | undefined {
  let part: CallPart | undefined = call;
  for (let count = 0; part !== undefined && part !== null && count < MAX_PARTS; count++) {
    if (part.http2Stream !== undefined) return part as Receiver;
    part = part.nextCall ?? part.call ?? part.child ?? part.underlyingCalls?.at(-1)?.call;
  }
  return undefined;
}

/** gRPC's prefix of a message: a flag for compressed ones, and their length. */
const PREFIX_BYTES = 5;
const ENCODING = "grpc-encoding";

/** Memory of a request by its metadata's options: of all that belongs to a call, its filters see these alone. */
const memories = new WeakMap<MetadataOptions, MemoryShare>();

/** Counts the inflated answer to a call with this metadata as memory of a request. */
export function countAnswer(metadata: Metadata, memory: MemoryShare): void {
  const options: MetadataOptions = {};
  memories.set(options, memory);
  metadata.setOptions(options);
}

/**
 * Inflates a client's answers within the memory of their requests, in place of grpc-js, which counts none of it; those
 * of requests that count none, within a budget of the client's own. Where this version of grpc-js has no place for
 * that, it goes on as it does.
 */
export function inflateAnswers(client: Client, maxBytes: number, budget: MemoryBudget): void {
  const factories = filterFactoriesOf(client);
  // The last one sees answers first.
  factories?.push({ createFilter: () => new InflateFilter(budget, maxBytes) });
}

/** A part of each call, which sees its messages with their prefix; grpc-js has it, but does not document it. */
interface Filter {
  sendMetadata(metadata: Promise<Metadata>): Promise<Metadata>;
  receiveMetadata(metadata: Metadata): Metadata;
  sendMessage<Message>(message: Promise<Message>): Promise<Message>;
  receiveMessage(message: Promise<Buffer>): Promise<Buffer>;
  receiveTrailers<Status>(status: Status): Status;
}

interface FilterFactory {
  createFilter(): Filter;
}

function filterFactoriesOf(client: Client): FilterFactory[] | undefined {
  const { internalChannel } = client.getChannel() as {
    internalChannel?: { filterStackFactory?: { factories?: FilterFactory[] } };
  };
  const factories = internalChannel?.filterStackFactory?.factories;
  return Array.isArray(factories) ? factories : undefined;
}

class InflateFilter implements Filter {
  readonly #budget: MemoryBudget;
  readonly #maxBytes: number;
  #memory: MemoryShare | undefined;
  #compression: Compression | undefined;

  constructor(budget: MemoryBudget, maxBytes: number) {
    this.#budget = budget;
    this.#maxBytes = maxBytes;
  }

  async sendMetadata(given: Promise<Metadata>): Promise<Metadata> {
    const metadata = await given;
    this.#memory = memories.get(metadata.getOptions());
    return metadata;
  }

  receiveMetadata(metadata: Metadata): Metadata {
    const [encoding] = metadata.get(ENCODING);
    if (typeof encoding !== "string" || !isCompression(encoding)) return metadata;
    this.#compression = encoding;
    metadata.remove(ENCODING);
    return metadata;
  }

  sendMessage<Message>(message: Promise<Message>): Promise<Message> {
    return message;
  }

  receiveTrailers<Status>(status: Status): Status {
    return status;
  }

  async receiveMessage(given: Promise<Buffer>): Promise<Buffer> {
    const message = await given;
    if (this.#compression === undefined || message[0] !== 1) return message;
    // What the answer holds afterwards is counted by its call.
    const memory = this.#memory?.split(0, true) ?? this.#budget.open();
    try {
      const limits = { maxBytes: this.#maxBytes, memory, lead: Buffer.alloc(PREFIX_BYTES) };
      const { buffer, byteOffset, length } = await inflate(message.subarray(PREFIX_BYTES), this.#compression, limits);
      const framed = Buffer.from(buffer, byteOffset, length);
      framed.writeUInt32BE(length - PREFIX_BYTES, 1);
      return framed;
    } catch (reason) {
      throw toStatus(reason);
    } finally {
      memory.release();
    }
  }
}

/** An answer that cannot be read is not the client's fault. */
function toStatus(reason: unknown): { readonly code: number; readonly details: string } {
  const { code, message } = ServingError.from(reason);
  const told = code === "invalid_argument" ? "internal" : code;
  return { code: STATUS[told].grpc, details: `The remote server's answer cannot be inflated: ${message}` };
}
