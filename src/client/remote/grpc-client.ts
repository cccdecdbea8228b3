import { setMaxListeners } from "node:events";
import {
  type Client,
  credentials,
  InterceptingCall,
  type Interceptor,
  type Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import type { RemoteTlsPaths } from "../../pipeline/remote.ts";
import { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import type { OverloadRules } from "../../platform/limits/overload-manager.ts";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "../../platform/limits/transport-limits.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { ArrivalLimit, countAnswer, inflateAnswers, PartsLimit } from "./answer-memory.ts";
import { asIs, connectGrpc, NEVER_IDLE_MS, untilConnected } from "./grpc-connection.ts";
import { fromMetadata, fromServiceError, toMetadata, withoutTransport } from "./grpc-messages.ts";
import type { SilenceTimes } from "./heartbeat.ts";
import { RemoteTlsFiles } from "./remote-tls-files.ts";

/** Choices for {@link createGrpcClient}. */
export interface GrpcClientOptions {
  /** Maximum size of an answer, and of its tensors in memory, in bytes. */
  readonly maxMessageBytes: number;
  /** Files for an encrypted connection. */
  readonly tls?: RemoteTlsPaths | undefined;
  /** Times after which a connection is given up whose server is silent during calls; absent = never. */
  readonly silence?: SilenceTimes;
  /** At which rate answers come at least to requests that count no memory of their own. Default: the server's. */
  readonly overload?: OverloadRules | undefined;
}

/** A client that keeps one connection to the server at an address, as parseServerAddress takes it. */
export function createGrpcClient(address: string, options: GrpcClientOptions): Client {
  const { maxMessageBytes, tls = {}, silence, overload } = options;
  const client = connectGrpc(address, {
    encrypt: () => credentials.createFromSecureContext(new RemoteTlsFiles(tls)),
    limits: {
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc-node.flow_control_window": windowBytes(maxMessageBytes),
      "grpc.client_idle_timeout_ms": NEVER_IDLE_MS,
      ...(silence && { "grpc.keepalive_time_ms": silence.askMs, "grpc.keepalive_timeout_ms": silence.answerMs }),
    },
  });
  const budget = new MemoryBudget(2 * maxMessageBytes, undefined, false);
  if (overload !== undefined) budget.overload.configure(overload);
  budgets.set(client, budget);
  inflateAnswers(client, maxMessageBytes, budget);
  return client;
}

/** Window of a stream, which takes as much while its parts wait: a small share of what a server has room for. */
function windowBytes(maxMessageBytes: number): number {
  return Math.min(CONNECTION_WINDOW_BYTES, Math.max(STREAM_WINDOW_BYTES, Math.floor(maxMessageBytes / 32)));
}

/** Memory of the answers of each client to requests that count none of their own, such as those of hooks. */
const budgets = new WeakMap<Client, MemoryBudget>();

/** A message to send, with its limits. */
interface OutgoingCall {
  readonly message: Buffer;
  readonly call: Pick<CallOptions, "metadata" | "limits" | "signal" | "memory">;
}

/** A message that came back. */
interface IncomingAnswer {
  readonly message: Buffer;
  readonly metadata: Record<string, string>;
}

/** Copies of a message while it is sent: itself, and the same with gRPC's prefix as grpc-js sends it. */
const SENT_COPIES = 2;

/** Makes the error of a failed call; `hasHeaders`: the server had begun its answer. */
type ToError = (error: ServiceError, hasHeaders: boolean) => ServingError;

/**
 * Sends one message and waits for its answer; rejects with the server's own error, or the reason why there is none.
 * What is sent counts as memory of the request until the answer is there, which counts from then on.
 */
export async function callUnary(
  client: Client,
  path: string,
  outgoing: OutgoingCall,
  toError: ToError = fromServiceError,
): Promise<IncomingAnswer> {
  const { memory } = outgoing.call;
  const bytes = SENT_COPIES * outgoing.message.length;
  memory?.grow(bytes);
  const answer = await send(client, path, outgoing, toError).finally(() => memory?.shrink(bytes));
  memory?.grow(answer.message.length);
  return answer;
}

/** Shows a limit what comes; its call is grpc-js's own part of it. */
function limited(limit: ArrivalLimit, onMessage: (message: Buffer, call: InterceptingCall) => void): Interceptor {
  return (options, nextCall) => {
    const inner = nextCall(options);
    const call: InterceptingCall = new InterceptingCall(inner, {
      start: (metadata, _listener, next) =>
        next(metadata, {
          onReceiveMetadata: (received, pass) => {
            limit.begin(inner);
            pass(received);
          },
          onReceiveMessage: (message: Buffer | null, pass) => {
            pass(message);
            if (message !== null) onMessage(message, call);
          },
        }),
    });
    return call;
  };
}

function send(
  client: Client,
  path: string,
  { message, call: given }: OutgoingCall,
  toError: ToError,
): Promise<IncomingAnswer> {
  const { signal, limits } = given;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(ServingError.from(signal.reason));
    // One request may cause any number of calls at once, for example a hook's loop over the faces in a photo.
    if (signal instanceof AbortSignal) setMaxListeners(0, signal);
    let metadata: Record<string, string> | undefined;
    const cancel = () => call.cancel();
    const limit = new ArrivalLimit(given.memory ?? budgets.get(client), cancel);
    const settle = (error: ServiceError | null, answer?: Buffer) => {
      signal.removeEventListener("abort", cancel);
      limit.stop();
      if (limit.failure !== undefined) reject(limit.failure);
      else if (signal.aborted) reject(ServingError.from(signal.reason));
      else if (error !== null) reject(toError(error, metadata !== undefined));
      else resolve({ message: answer as Buffer, metadata: metadata ?? {} });
    };
    const options = {
      // Otherwise a second message would wait, and the call with it.
      interceptors: [limited(limit, (_, call) => call.startRead())],
      ...(limits?.deadline !== undefined && { deadline: limits.deadline }),
    };
    const sent = toMetadata(given.metadata);
    if (given.memory !== undefined) countAnswer(sent, given.memory);
    const call = client.makeUnaryRequest(path, asIs, asIs, message, sent, options, settle);
    call.on("metadata", (received: Metadata) => {
      metadata = withoutTransport(fromMetadata(received));
    });
    signal.addEventListener("abort", cancel, { once: true });
  });
}

/**
 * Sends one message, and gives those of its answer as they come; a reader that stops ends the call, and one that is
 * slow keeps the server from sending. Memory counts the message, and of these as much as has come, until the reader
 * asks for the next one. Throws as {@link callUnary} rejects.
 */
export async function* callStream(
  client: Client,
  path: string,
  { message, call: given }: OutgoingCall,
  toError: ToError = fromServiceError,
): AsyncGenerator<IncomingAnswer, void, undefined> {
  const { signal, limits, memory } = given;
  if (signal.aborted) throw ServingError.from(signal.reason);
  if (signal instanceof AbortSignal) setMaxListeners(0, signal);
  let sentBytes = 0;
  const countSent = (bytes: number) => {
    if (bytes > sentBytes) memory?.grow(bytes - sentBytes);
    else memory?.shrink(sentBytes - bytes);
    sentBytes = bytes;
  };
  const cancel = () => call.cancel();
  const limit = new PartsLimit(memory ?? budgets.get(client), cancel);
  const gate = new ReadGate();
  const options = {
    interceptors: [gate.interceptor, limited(limit, (part) => limit.hold(part.length))],
    ...(limits?.deadline !== undefined && { deadline: limits.deadline }),
  };
  const sent = toMetadata(given.metadata);
  if (memory !== undefined) countAnswer(sent, memory);
  const call = client.makeServerStreamRequest(path, asIs, asIs, message, sent, options);
  let metadata: Record<string, string> | undefined;
  call.on("metadata", (received: Metadata) => {
    metadata = withoutTransport(fromMetadata(received));
  });
  signal.addEventListener("abort", cancel, { once: true });
  try {
    countSent(SENT_COPIES * message.length);
    for await (const part of call) {
      signal.throwIfAborted();
      // grpc-js has given its copy up.
      countSent(message.length);
      // The next one is read while its reader still needs this one.
      const isSmall = part.length <= STREAM_WINDOW_BYTES;
      if (isSmall) gate.open();
      limit.give(part.length);
      yield { message: part, metadata: metadata ?? {} };
      limit.done(part.length);
      if (!isSmall) gate.open();
    }
  } catch (reason) {
    if (limit.failure !== undefined) throw limit.failure;
    if (signal.aborted) throw ServingError.from(signal.reason);
    throw isServiceError(reason) ? toError(reason, metadata !== undefined) : reason;
  } finally {
    signal.removeEventListener("abort", cancel);
    countSent(0);
    limit.stop();
    call.cancel();
  }
}

/** Checks for an error that gRPC's client gives a call. */
export function isServiceError(reason: unknown): reason is ServiceError {
  return typeof (reason as ServiceError | null)?.details === "string";
}

/** Keeps gRPC's client from reading further messages of an answer than the one after that which was taken last. */
class ReadGate {
  #isOpen = true;
  #read: (() => void) | undefined;

  readonly interceptor: Interceptor = (options, nextCall) => {
    const call = new InterceptingCall(nextCall(options));
    const startRead = call.startRead.bind(call);
    call.startRead = () => {
      this.#read = startRead;
      if (this.#isOpen) this.#pass();
    };
    return call;
  };

  /** Lets one message through. */
  open(): void {
    this.#isOpen = true;
    if (this.#read !== undefined) this.#pass();
  }

  #pass(): void {
    const read = this.#read;
    this.#read = undefined;
    this.#isOpen = false;
    read?.();
  }
}

/** A client of another server that sends serialised messages. */
export interface MessageClient {
  /** Waits for the connection; throws `unavailable` if it cannot be had. */
  connect(): Promise<void>;
  /** Sends a message to a method and resolves with the answer's; rejects with the server's error. */
  call(path: string, message: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Sends a message over a stream of its own, and yields those of the answer; throws the server's error. */
  stream(path: string, message: Uint8Array, timeoutMs: number): AsyncIterable<Uint8Array>;
  close(): void;
}

/** The largest size that gRPC's signed 32-bit lengths can express. */
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

/** A client of the gRPC server at `host:port`, with an `Authorization` if that asks for one. */
export function createMessageClient(address: string, authorization?: string): MessageClient {
  const client = createGrpcClient(address, { maxMessageBytes: MAX_MESSAGE_BYTES });
  const { signal } = new AbortController();
  const metadata = authorization === undefined ? {} : { authorization };
  return {
    connect: () => untilConnected(client, address),
    call: async (path, message, timeoutMs) => {
      const call = { metadata, limits: { deadline: Date.now() + timeoutMs }, signal };
      return (await callUnary(client, path, { message: toBuffer(message), call })).message;
    },
    async *stream(path, message, timeoutMs) {
      const deadline = { deadline: Date.now() + timeoutMs };
      const call = client.makeBidiStreamRequest(path, asIs, asIs, toMetadata(metadata), deadline);
      let hasHeaders = false;
      call.once("metadata", () => {
        hasHeaders = true;
      });
      // One that comes once its answers are not read any more.
      call.on("error", () => {});
      call.end(toBuffer(message));
      try {
        yield* call;
      } catch (reason) {
        throw fromServiceError(reason as ServiceError, hasHeaders);
      } finally {
        call.cancel();
      }
    },
    close: () => client.close(),
  };
}

/** The same bytes as a Buffer. */
export function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
