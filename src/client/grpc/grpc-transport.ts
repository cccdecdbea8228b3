import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  credentials,
  type Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { fromGrpcStatus, reasonText } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { retryDelayMs } from "../../retry-info.ts";
import { decodeMessage, encodeAs } from "../../tensor/codecs/protobuf/proto-messages.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { answeredText, CallError, encryptionProblem, streamedError } from "../call-error.ts";
import { abortError } from "../call-sender.ts";
import type { ClientTls, ConnectOptions } from "../connect-options.ts";
import { lastError } from "../remote/connection-problem.ts";
import { callStream, callUnary, isServiceError } from "../remote/grpc-client.ts";
import { asIs, connectGrpc } from "../remote/grpc-connection.ts";
import { detailsOf, toMetadata } from "../remote/grpc-messages.ts";
import {
  askParts,
  decodeInferResponse,
  decodeStreamResponse,
  encodeInferRequest,
  methodPath,
  type PartErrors,
  readParts,
  STREAM_PATH,
  streamMetadata,
} from "../remote/infer-message.ts";
import {
  type DescribedTensor,
  type ModelAnswer,
  type ModelMetadata,
  type ModelName,
  type ModelRequest,
  readDecoupled,
  type StreamAnswer,
  type Transport,
  type TransportCall,
  valuesIn,
} from "../transport.ts";

/** A tensor as the message describes it. */
type WireTensor = DescribedTensor & { readonly parameters?: unknown };

/** KServe V2 over gRPC, on one connection that opens with the first call. */
export class GrpcTransport implements Transport {
  readonly address: string;
  readonly #client: Client;
  readonly #failed = (error: ServiceError, hasHeaders: boolean) => grpcFailure(this.address, error, hasHeaders);

  /** `address`: `grpc://HOST:PORT`, or `grpcs://`. */
  constructor(address: string, { tls = {} }: Pick<ConnectOptions, "tls">) {
    this.address = address;
    this.#client = connectGrpc(withoutEnd(address, "/"), {
      encrypt: () => encrypted(tls),
      limits: { "grpc.max_receive_message_length": -1 },
    });
  }

  async infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer> {
    const { message, metadata } = await this.#call("ModelInfer", encodeInferRequest(request), call);
    return { ...this.#understand(() => decodeInferResponse(message)), metadata };
  }

  async *parts(request: ModelRequest, call: TransportCall): AsyncGenerator<Tensors, void, undefined> {
    const sent = {
      message: encodeInferRequest(askParts(request)),
      call: { ...call, limits: call, metadata: streamMetadata(call.metadata) },
    };
    const answers = callStream(this.#client, STREAM_PATH, sent, this.#failed);
    let hasPart = false;
    const errors: PartErrors = {
      // Only a server like this one tells codes; by this one it says that it has run nothing, as if it were no stream.
      answered: (text, code) =>
        streamedError(this.address, { text, code, isSafeToRetry: code === "unavailable" && !hasPart }),
      unreadable: (cause) => unreadable(this.address, cause),
      cut: () => endedEarly(this.address, "the answer was whole. Send the request again if it may run twice"),
    };
    for await (const { outputs, isEmpty } of readParts(answers, { errors })) {
      hasPart = true;
      if (!isEmpty) yield outputs;
    }
  }

  stream(requests: AsyncIterable<ModelRequest>, call: TransportCall): AsyncIterable<StreamAnswer> {
    return inferStream({ client: this.#client, address: this.address }, requests, call);
  }

  async describe(name: ModelName, call: TransportCall): Promise<ModelMetadata> {
    const answer = (await this.#ask("ModelMetadata", nameFields(name), call)) as unknown as ModelMetadata;
    const sized = (tensors: readonly WireTensor[] = []) =>
      tensors.map(({ name, datatype, shape, parameters }) => {
        return { name, datatype, shape: shape.map(Number), ...valuesIn(parameters) };
      });
    return { ...answer, inputs: sized(answer.inputs), outputs: sized(answer.outputs) };
  }

  isDecoupled(name: ModelName, call: TransportCall): Promise<boolean> {
    return readDecoupled(this.#ask("ModelConfig", nameFields(name), call).then(({ config }) => config));
  }

  async list(call: TransportCall): Promise<readonly string[]> {
    const { models } = await this.#ask("RepositoryIndex", {}, call);
    return [...new Set((models as unknown as readonly { readonly name: string }[]).map(({ name }) => name))];
  }

  async isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean> {
    if (name === undefined) return (await this.#ask("ServerReady", {}, call)).ready === true;
    return (await this.#ask("ModelReady", nameFields(name), call)).ready === true;
  }

  close(): void {
    this.#client.close();
  }

  async #ask(method: string, fields: Record<string, string>, call: TransportCall) {
    const { message } = await this.#call(method, encodeAs(`inference.${method}Request`, fields), call);
    return this.#understand(() => decodeMessage(`inference.${method}Response`, message));
  }

  #call(method: string, message: Buffer, call: TransportCall) {
    return callUnary(this.#client, methodPath(method), { message, call: { ...call, limits: call } }, this.#failed);
  }

  #understand<Answer>(read: () => Answer): Answer {
    try {
      return read();
    } catch (cause) {
      throw unreadable(this.address, cause);
    }
  }
}

function nameFields({ model, version = "" }: ModelName): Record<string, string> {
  return { name: model, version };
}

function encrypted({ ca, cert, key }: ClientTls): ChannelCredentials {
  const [authorities, ownKey, ownCert] = [ca, key, cert].map((pem) => (pem === undefined ? null : Buffer.from(pem)));
  return credentials.createSsl(authorities, ownKey, ownCert);
}

/** A server that is sent a stream. */
interface StreamServer {
  readonly client: Client;
  readonly address: string;
}

type Duplex = ClientDuplexStream<Buffer, Buffer>;

/**
 * Sends requests as they come, and gives answers as they come; ends the call if its reader stops. A server that ends
 * it before all requests were sent is an error, for which no further one is waited.
 */
async function* inferStream(
  { client, address }: StreamServer,
  requests: AsyncIterable<ModelRequest>,
  { signal, deadline, metadata }: TransportCall,
): AsyncGenerator<StreamAnswer, void, undefined> {
  if (signal.aborted) throw abortError(signal);
  const options = deadline === undefined ? {} : { deadline };
  const call: Duplex = client.makeBidiStreamRequest(STREAM_PATH, asIs, asIs, toMetadata(metadata), options);
  let hasHeaders = false;
  call.on("metadata", (_: Metadata) => {
    hasHeaders = true;
  });
  const cancel = () => call.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  let unsent: { readonly reason: unknown } | undefined;
  sendAll(call, requests).catch((reason) => {
    unsent = { reason };
    call.cancel();
  });
  try {
    for await (const message of call) yield toAnswer(address, message as Buffer);
    if (!call.writableEnded)
      throw endedEarly(address, "all requests were sent. Send those without a result again if they may run twice");
  } catch (reason) {
    if (unsent !== undefined) throw unsent.reason;
    if (signal.aborted) throw abortError(signal);
    if (reason instanceof CallError) throw reason;
    throw isServiceError(reason) ? grpcFailure(address, reason, hasHeaders) : unreadableStream(address, reason);
  } finally {
    signal.removeEventListener("abort", cancel);
    call.cancel();
  }
}

/** Waits while the connection takes no more, and stops if the call is over. */
async function sendAll(call: Duplex, requests: AsyncIterable<ModelRequest>): Promise<void> {
  for await (const request of requests) {
    if (call.destroyed) return;
    if (!call.write(encodeInferRequest(request))) await nextDrain(call);
    // A source that never waits would keep answers from being read.
    await nextTurn();
  }
  call.end();
}

function nextDrain(call: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ["drain", "close", "error"]) call.off(event, done);
      resolve();
    };
    for (const event of ["drain", "close", "error"]) call.on(event, done);
  });
}

function unreadable(address: string, cause: unknown): CallError {
  return new CallError("internal", `The answer of ${address} cannot be read: ${reasonText(cause)}`, { cause });
}

function unreadableStream(address: string, cause: unknown): CallError {
  const text = `The stream of ${address} cannot be read: ${reasonText(cause)} Send the requests one by one.`;
  return new CallError("internal", text, { cause });
}

function endedEarly(address: string, what: string): CallError {
  return new CallError("internal", `${address} ended the stream before ${what}.`);
}

function toAnswer(address: string, message: Buffer): StreamAnswer {
  const { id, outputs, isFinal, errorText, errorCode } = decodeStreamResponse(message);
  if (errorText === "") return { id, outputs, isFinal };
  return { id, error: streamedError(address, { text: errorText, code: errorCode }) };
}

/** The error of a call that failed; `hasHeaders`: the server had begun its answer. */
function grpcFailure(address: string, error: ServiceError, hasHeaders: boolean): CallError {
  const { code: number, details: text, metadata } = error;
  const code = fromGrpcStatus(number);
  const details = detailsOf(error);
  const [type] = metadata.get("content-type");
  if (!hasHeaders && type === undefined) return unanswered(address, error);
  return new CallError(code, answeredText(address, `${status[number] ?? number}: ${text || "no reason"}`, code), {
    cause: error,
    details,
    status: number,
    serverText: text,
    // Anything else may come from something between, or of a model that ran.
    isSafeToRetry: code === "unavailable" && !hasHeaders && String(type).startsWith("application/grpc"),
    retryAfterMs: retryDelayMs(details),
  });
}

/** The transport's own words: if no connection was made, nothing was sent. */
function unanswered(address: string, error: ServiceError): CallError {
  const code = fromGrpcStatus(error.code);
  const text = withoutEnd(lastError(error.details || reasonText(error)).trimEnd(), ". ");
  if (code === "deadline_exceeded")
    return new CallError(code, "The call's time was up before the answer came. Give it a longer timeoutMs.", {
      cause: error,
    });
  if (code !== "unavailable") return new CallError(code, `${address}: ${text}.`, { cause: error });
  const encryption = encryptionProblem(text, "grpc");
  const isUnsent = /No connection established|Name resolution failed/.test(error.details);
  const advice = encryption?.advice ?? (isUnsent ? START : "Send the call again if it may run twice.");
  return new CallError(code, `${address} cannot be reached: ${encryption?.meaning ?? text}. ${advice}`, {
    cause: error,
    isSafeToRetry: isUnsent && encryption === undefined,
  });
}

const START = "Start a server there, or correct the address: grpcs:// where it is encrypted.";
