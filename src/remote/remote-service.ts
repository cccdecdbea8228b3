import { setMaxListeners } from "node:events";
import { isMainThread } from "node:worker_threads";
import { Client, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { reasonText, ServingError } from "../errors.ts";
import { decodeInThread } from "../grpc/codec-jobs.ts";
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
import type { InferenceService, InferRequest, InferResponse, JsonPayload } from "../serving/inference-service.ts";
import { DEFAULT_SIGNATURE } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { isConnected, watchConnection } from "./client-readiness.ts";
import { fromMetadata, toMetadata, withoutTransport } from "./metadata-record.ts";
import { fromServiceError } from "./service-error.ts";

/** How to talk to another server. */
export interface RemoteServiceOptions {
  /** `int32` for the original kserving's server, which takes no other. Default `int64`, TensorFlow Serving's. */
  readonly versionEncoding?: VersionEncoding;
  /** The largest answer taken, and what its tensors may take in memory. Default 256 MB. */
  readonly maxMessageBytes?: number;
}

/** Another server behind the interface of our own. */
export interface RemoteService extends InferenceService {
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
  return {
    describe: async ({ model, version = 0n }) => ({ model, version, drivers: [], signatures: {} }),
    index: () => [],
    statistics: async () => [],
    load: refuseControl,
    unload: refuseControl,
    infer: async (request) => {
      const { inputs, record } = request;
      record?.beginInference(request.model, request.version);
      try {
        if (inputs.kind === "json") return await inferJson(client, request, inputs);
        return await inferTensors(client, request, { tensors: inputs.tensors, versionEncoding, maxMessageBytes });
      } finally {
        record?.endInference();
      }
    },
    isReady: () => isConnected(client),
    onReadiness: (listener) => watchConnection(client, listener),
    close: async () => client.close(),
  };
}

interface TensorCall {
  readonly tensors: Tensors;
  readonly versionEncoding: VersionEncoding;
  readonly maxMessageBytes: number;
}

async function inferTensors(client: Client, request: InferRequest, call: TensorCall): Promise<InferResponse> {
  const { model, version, label, signature, outputs = [] } = request;
  const chosen = { ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
  const spec = { model, signature, ...chosen, versionEncoding: call.versionEncoding };
  const message = encodePredictRequest({ spec, inputs: call.tensors, outputFilter: outputs }, "content");
  const answer = await callUnary(client, PREDICT_PATH, { message, request });
  request.memory?.growTo(answer.message.length);
  const decoded = await readAnswer(() => decodeAnswer(answer.message, request, call.maxMessageBytes));
  return {
    ...resolved(request, decoded.spec),
    outputs: { kind: "tensors", tensors: decoded.outputs },
    metadata: answer.metadata,
  };
}

async function inferJson(client: Client, request: InferRequest, { json }: JsonPayload): Promise<InferResponse> {
  const answer = await callUnary(client, PREDICT_JSON_PATH, { message: encodePredictJson(json), request });
  request.memory?.growTo(answer.message.length);
  const outputs = { kind: "json", json: await readAnswer(() => decodePredictJson(answer.message)) } as const;
  return { ...resolved(request, {}), outputs, metadata: answer.metadata };
}

type Resolved = Pick<InferResponse, "model" | "version" | "signature">;

/** What the server said that it ran, else what was asked for. */
function resolved(request: InferRequest, told: Partial<Resolved>): Resolved {
  return {
    model: told.model || request.model,
    version: told.version ?? request.version ?? 0n,
    signature: told.signature || request.signature || DEFAULT_SIGNATURE,
  };
}

/** In the main thread what takes long is done by a codec thread; in a hook's thread it delays nobody else. */
function decodeAnswer(
  message: Buffer,
  { signal, memory }: InferRequest,
  maxBytes: number,
): PredictResponse | Promise<PredictResponse> {
  if (!isMainThread) return decodePredictResponse(message, maxBytes);
  const decoded = decodePredictResponseQuickly(message, maxBytes);
  return decoded ?? decodeInThread(decodePredictResponseJob, message, { signal, memory, maxBytes });
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
  readonly request: InferRequest;
}

interface IncomingAnswer {
  readonly message: Buffer;
  readonly metadata: Record<string, string>;
}

function callUnary(client: Client, path: string, { message, request }: OutgoingCall): Promise<IncomingAnswer> {
  const { signal, deadline } = request;
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
    const sent = toMetadata(request.metadata);
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
