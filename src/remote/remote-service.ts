import { setMaxListeners } from "node:events";
import { isMainThread } from "node:worker_threads";
import { Client, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { decodeInThread } from "../codec-host/codec-jobs.ts";
import { reasonText, ServingError } from "../errors.ts";
import { CONNECTION_WINDOW_BYTES } from "../grpc/http2-connections.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import { decodePredictJson, encodePredictJson } from "../protocols/kibernetika/grpc-codec.ts";
import { PREDICT_JSON_PATH } from "../protocols/kibernetika/grpc-service.ts";
import {
  decodePredictResponse,
  decodePredictResponseJob,
  decodePredictResponseQuickly,
  encodePredictRequest,
  type PredictResponse,
} from "../protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../protocols/tensorflow-serving/grpc-service.ts";
import type { VersionEncoding } from "../protocols/tensorflow-serving/model-spec.ts";
import { inferOnce, type SingleRequest } from "../serving/infer-once.ts";
import type {
  CallOptions,
  InferenceService,
  InferRequest,
  InferResponse,
  JsonPayload,
  Lease,
  ModelRef,
} from "../serving/inference-service.ts";
import { DEFAULT_SIGNATURE } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { isConnected, watchConnection } from "./client-readiness.ts";
import { fromMetadata, toMetadata, withoutTransport } from "./metadata-record.ts";
import { fromServiceError } from "./service-error.ts";

/** Form and limits of the calls to another server. */
export interface RemoteServiceOptions {
  /** `int32` for the original kserving's server, which takes no other. Default `int64`, TensorFlow Serving's. */
  readonly versionEncoding?: VersionEncoding;
  /** The largest answer taken, and what its tensors may take in memory. Default 256 MB. */
  readonly maxMessageBytes?: number;
}

/** Another server behind the interface of our own. */
export interface RemoteService extends InferenceService {
  acquire(ref: ModelRef): Lease;
  /** Runs one request. */
  infer(request: SingleRequest): Promise<InferResponse>;
  /** Ends the connection; calls under way fail. */
  close(): Promise<void>;
}

/** Longer than any pause: a channel that idles would say that the server is not ready. */
const NEVER_IDLE_MS = 2 ** 31 - 1;

/**
 * A client of the server at `address` (`host:port`), one of ours, the original's or TensorFlow Serving.
 * It connects at once, keeps one connection, and reconnects by itself. Its errors are the server's, with the server's texts.
 */
export function createRemoteService(address: string, options: RemoteServiceOptions): RemoteService {
  const { versionEncoding = "int64", maxMessageBytes = SERVER_DEFAULTS.maxMessageBytes } = options;
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.client_idle_timeout_ms": NEVER_IDLE_MS,
    "grpc-node.flow_control_window": CONNECTION_WINDOW_BYTES,
    "grpc.enable_channelz": 0,
  });
  isConnected(client);
  const limits = { versionEncoding, maxMessageBytes };
  const service: RemoteService = {
    acquire: (ref) => lease(client, ref, limits),
    infer: (request) => inferOnce(service, request),
    index: () => [],
    statistics: async () => [],
    load: refuseControl,
    unload: refuseControl,
    reconfigure: refuseControl,
    lookAgain: refuseControl,
    isReady: () => isConnected(client),
    onReadiness: (listener) => watchConnection(client, listener),
    close: async () => client.close(),
  };
  return service;
}

type AnswerLimits = Required<RemoteServiceOptions>;

/** A lease of a version that the other server finds, with each request again. */
function lease(client: Client, ref: ModelRef, limits: AnswerLimits): Lease {
  const { model, version = 0n } = ref;
  return {
    description: { model, version, drivers: [], signatures: {} },
    infer: async (request) => {
      const { record } = request.call;
      record?.beginInference();
      try {
        return await infer(client, { ref, request }, limits);
      } finally {
        record?.endInference();
      }
    },
    release: () => {},
  };
}

/** A request and the model that it is for. */
interface Asked {
  readonly ref: ModelRef;
  readonly request: InferRequest;
}

function infer(client: Client, asked: Asked, limits: AnswerLimits): Promise<InferResponse> {
  const { inputs } = asked.request;
  if (inputs.kind === "json") return inferJson(client, asked, inputs);
  return inferTensors(client, asked, { tensors: inputs.tensors, ...limits });
}

interface TensorCall extends AnswerLimits {
  readonly tensors: Tensors;
}

async function inferTensors(client: Client, asked: Asked, call: TensorCall): Promise<InferResponse> {
  const { model, version, label } = asked.ref;
  const { signature, outputs = [], call: options } = asked.request;
  const chosen = { ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
  const spec = { model, signature: signature.name, ...chosen, versionEncoding: call.versionEncoding };
  const message = encodePredictRequest({ spec, inputs: call.tensors, outputFilter: outputs }, "content");
  const answer = await callUnary(client, PREDICT_PATH, { message, call: options });
  options.memory?.growTo(answer.message.length);
  const decoded = await readAnswer(() => decodeAnswer(answer.message, options, call.maxMessageBytes));
  return {
    ...resolved(asked, decoded.spec),
    outputs: { kind: "tensors", tensors: decoded.outputs },
    metadata: answer.metadata,
  };
}

async function inferJson(client: Client, asked: Asked, { json }: JsonPayload): Promise<InferResponse> {
  const { call } = asked.request;
  const answer = await callUnary(client, PREDICT_JSON_PATH, { message: encodePredictJson(json), call });
  call.memory?.growTo(answer.message.length);
  const outputs = { kind: "json", json: await readAnswer(() => decodePredictJson(answer.message)) } as const;
  return { ...resolved(asked, {}), outputs, metadata: answer.metadata };
}

type Resolved = Pick<InferResponse, "model" | "version" | "signature">;

/** The servable that the server reports as run, else the one that was asked for. */
function resolved({ ref, request }: Asked, told: Partial<Resolved>): Resolved {
  return {
    model: told.model || ref.model,
    version: told.version ?? ref.version ?? 0n,
    signature: told.signature || request.signature.name || DEFAULT_SIGNATURE,
  };
}

/** In the main thread what takes long is done by a codec thread; in a hook's thread it delays nobody else. */
function decodeAnswer(
  message: Buffer,
  { signal, memory }: CallOptions,
  maxBytes: number,
): PredictResponse | Promise<PredictResponse> {
  if (!isMainThread) return decodePredictResponse(message, maxBytes);
  const decoded = decodePredictResponseQuickly(message, maxBytes);
  return (
    decoded ?? decodeInThread(decodePredictResponseJob, [message, maxBytes], { message, maxBytes, signal, memory })
  );
}

/** An answer that cannot be read is not the client's fault. */
async function readAnswer<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (ServingError.from(cause).code !== "invalid_argument") throw ServingError.from(cause);
    throw new ServingError("internal", `The remote server's answer cannot be read: ${reasonText(cause)}`, { cause });
  }
}

interface OutgoingCall {
  readonly message: Buffer;
  readonly call: CallOptions;
}

interface IncomingAnswer {
  readonly message: Buffer;
  readonly metadata: Record<string, string>;
}

function callUnary(client: Client, path: string, { message, call: given }: OutgoingCall): Promise<IncomingAnswer> {
  const { signal, deadline } = given;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(ServingError.from(signal.reason));
    // One request may lead to any number of calls at once, as a hook's loop over the faces of a photo does.
    if (signal instanceof AbortSignal) setMaxListeners(0, signal);
    let metadata: Record<string, string> | undefined;
    const cancel = () => call.cancel();
    const settle = (error: ServiceError | null, answer?: Buffer) => {
      signal.removeEventListener("abort", cancel);
      if (signal.aborted) reject(ServingError.from(signal.reason));
      else if (error !== null) reject(fromServiceError(error, metadata !== undefined));
      else resolve({ message: answer as Buffer, metadata: metadata ?? {} });
    };
    const options = deadline === undefined ? {} : { deadline };
    const sent = toMetadata(given.metadata);
    const call = client.makeUnaryRequest(path, asIs, asIs, message, sent, options, settle);
    call.on("metadata", (received: Metadata) => {
      metadata = withoutTransport(fromMetadata(received));
    });
    signal.addEventListener("abort", cancel, { once: true });
  });
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

async function refuseControl(): Promise<never> {
  throw new ServingError("unimplemented", "This is a proxy; load and unload models at the server behind it.");
}
