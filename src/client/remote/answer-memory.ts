import type { Readable } from "node:stream";
import type { Client, Metadata, MetadataOptions } from "@grpc/grpc-js";
import { ServingError, STATUS } from "../../errors.ts";
import { type Compression, inflate, isCompression } from "../../platform/limits/compression.ts";
import { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../../platform/limits/memory/message-arrival.ts";

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
 * Counts the bytes of an answer as they come, in the memory of its request, or in a budget, and cancels the call if
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
    const memory = this.#memory?.split(0) ?? this.#budget.open();
    try {
      return frame(
        await inflate(message.subarray(PREFIX_BYTES), this.#compression, { maxBytes: this.#maxBytes, memory }),
      );
    } catch (reason) {
      throw toStatus(reason);
    } finally {
      memory.release();
    }
  }
}

function frame(bytes: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** An answer that cannot be read is not the client's fault. */
function toStatus(reason: unknown): { readonly code: number; readonly details: string } {
  const { code, message } = ServingError.from(reason);
  const told = code === "invalid_argument" ? "internal" : code;
  return { code: STATUS[told].grpc, details: `The remote server's answer cannot be inflated: ${message}` };
}
