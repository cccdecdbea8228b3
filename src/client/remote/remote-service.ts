import { isMainThread } from "node:worker_threads";
import type { Client } from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { RemotePart } from "../../observability/remote-part.ts";
import { endOfParts } from "../../pipeline/infer-request.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import { type Decoding, decodeMessage } from "../../platform/codec-host/codec-jobs.ts";
import { SERVER_DEFAULTS } from "../../platform/limits/settings/server-settings.ts";
import { decodePredictJson } from "../../protocols/kibernetika/grpc-codec.ts";
import { PREDICT_JSON_PATH } from "../../protocols/kibernetika/grpc-service.ts";
import { modelParameters } from "../../protocols/kserve/parameters.ts";
import {
  decodePredictResponseJob,
  decodePredictResponseQuickly,
} from "../../protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../protocols/tensorflow-serving/grpc-service.ts";
import type { VersionEncoding } from "../../protocols/tensorflow-serving/model-spec.ts";
import { inferOnce, type SingleRequest } from "../../serving/infer-once.ts";
import type {
  CallOptions,
  InferenceService,
  InferRequest,
  InferResponse,
  JsonPayload,
  Lease,
  ModelRef,
} from "../../serving/inference-service.ts";
import { DEFAULT_SIGNATURE } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { whyUnreachable } from "./connection-problem.ts";
import { encodeJson, encodeKserve, encodeRequest } from "./encode-requests.ts";
import { callStream, callUnary, createGrpcClient, type GrpcClientOptions } from "./grpc-client.ts";
import { isConnected, watchConnection } from "./grpc-connection.ts";
import { assertInTime } from "./grpc-messages.ts";
import { Heartbeat, SILENCE_TIMES } from "./heartbeat.ts";
import {
  askParts,
  INFER_DECODING,
  type InferAnswer,
  type InferRequest as KserveRequest,
  methodPath,
  readAnswer,
  readParts,
  STREAM_DECODING,
  STREAM_PATH,
  streamMetadata,
} from "./infer-message.ts";
import { callRemoteFunction } from "./remote-functions.ts";

/** Form and limits of the calls to another server; 256 MB by default, and {@link SILENCE_TIMES}. */
export interface RemoteServiceOptions extends Partial<GrpcClientOptions> {
  /** `int32` for a server of the original tool, which supports no other. Default `int64`, TensorFlow Serving's. */
  readonly versionEncoding?: VersionEncoding;
}

/** Another server behind the interface of our own. */
export interface RemoteService extends InferenceService {
  acquire(ref: ModelRef): Lease;
  /** Runs one request. */
  infer(request: SingleRequest): Promise<InferResponse>;
  /** Makes a call of another kind, whose signal also aborts if the server takes the connection and says nothing. */
  during<Result>(
    signal: CancelSignal,
    call: (client: Client, signal: CancelSignal) => Promise<Result>,
  ): Promise<Result>;
  /** The reason for which the server cannot be reached; undefined if it can be, or none is known. */
  whyUnreachable(): Promise<string | undefined>;
  /** Ends the connection; calls under way fail. */
  close(): Promise<void>;
}

/**
 * A client of the server at `address` (`host:port`, or `grpcs://host:port`), one of ours,
 * the original's or TensorFlow Serving. It connects immediately, keeps one connection,
 * and reconnects automatically. Its errors are the server's, with the server's texts.
 */
export function createRemoteService(address: string, options: RemoteServiceOptions): RemoteService {
  const { versionEncoding = "int64", maxMessageBytes = SERVER_DEFAULTS.maxMessageBytes, tls } = options;
  const { silence = SILENCE_TIMES, overload } = options;
  const client = createGrpcClient(address, { maxMessageBytes, tls, silence, overload });
  const heartbeat = new Heartbeat(client, silence);
  isConnected(client);
  const limits = { versionEncoding, maxMessageBytes };
  const service: RemoteService = {
    acquire: (ref) => lease({ client, heartbeat }, ref, { ...limits, address }),
    infer: (request) => inferOnce(service, request),
    during: (given, call) => heartbeat.during(given, (signal) => call(client, signal)),
    index: () => [],
    statistics: async () => [],
    load: refuseControl,
    unload: refuseControl,
    reconfigure: refuseControl,
    rescan: refuseControl,
    isReady: () => {
      const isReady = isConnected(client);
      // So that a server that has gone silent between calls is noticed.
      if (isReady) heartbeat.ask();
      return isReady;
    },
    onReadiness: (listener) => watchConnection(client, listener),
    whyUnreachable: () => whyUnreachable(client),
    close: async () => client.close(),
  };
  return service;
}

type AnswerLimits = Required<Pick<RemoteServiceOptions, "versionEncoding" | "maxMessageBytes">>;

/** A client with what shows that its server lives. */
interface Link {
  readonly client: Client;
  readonly heartbeat: Heartbeat;
}

/** A lease of a version that the other server finds, with each request again. */
function lease({ client, heartbeat }: Link, ref: ModelRef, limits: AnswerLimits & { readonly address: string }): Lease {
  const { model, version = 0n } = ref;
  return {
    description: { model, version, drivers: [], signatures: {} },
    infer: async (request) => {
      const { call } = request;
      // A transport's own: hooks that call other servers count no memory.
      if (call.memory !== undefined) call.memory.isWireOnly = true;
      const part = new RemotePart(call);
      const metadata = { ...call.metadata, ...part.headers };
      let code: string | undefined;
      call.record?.beginInference();
      // What the other server says of it is said by its model, as far as is known here.
      if (call.record !== undefined) call.record.isAdmitted = true;
      try {
        return await heartbeat.during(call.signal, (signal) =>
          infer(client, { ref, request: { ...request, call: { ...call, metadata, signal } } }, limits),
        );
      } catch (reason) {
        code = ServingError.from(reason).code;
        throw reason;
      } finally {
        part.end(limits.address, code);
        call.record?.endInference();
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

/** By Predict, unless parts or parameters are asked for: KServe V2 alone has them, but no labels. */
async function infer(client: Client, asked: Asked, limits: AnswerLimits): Promise<InferResponse> {
  const { inputs, parts, raw, call } = asked.request;
  if (raw !== undefined) return callRemoteFunction(client, { ...asked, raw });
  if (inputs.kind === "json") return inferJson(client, asked, inputs);
  const given = { tensors: inputs.tensors, ...limits };
  if ((parts ?? call.parameters) === undefined || asked.ref.label !== undefined)
    return inferTensors(client, asked, given);
  const answer = await (parts === undefined ? inferOnKserve : inferParts)(client, asked, given);
  return answer ?? inferTensors(client, asked, given);
}

/** Undefined if the server has no such protocol. */
async function inferOnKserve(client: Client, asked: Asked, given: TensorCall): Promise<InferResponse | undefined> {
  const { call } = asked.request;
  try {
    const message = await encodeKserve(toKserve(asked, given.tensors), call);
    const answer = await callUnary(client, methodPath("ModelInfer"), { message, call });
    const decode = decoder(INFER_DECODING, call, given.maxMessageBytes);
    const { outputs, ...told } = await readAnswer(() => decode(answer.message));
    const tensors = { kind: "tensors", tensors: outputs } as const;
    return { ...resolved(asked, toResolved(told)), outputs: tensors, metadata: answer.metadata };
  } catch (reason) {
    if (ServingError.from(reason).code !== "unimplemented") throw reason;
    return undefined;
  }
}

async function inferParts(client: Client, asked: Asked, given: TensorCall): Promise<InferResponse | undefined> {
  const { parts, call } = asked.request;
  const message = await encodeKserve(askParts(toKserve(asked, given.tensors)), call);
  const sent = { message, call: { ...call, metadata: streamMetadata(call.metadata) } };
  const decode = decoder(STREAM_DECODING, call, given.maxMessageBytes);
  const answers = readParts(callStream(client, STREAM_PATH, sent), { decode });
  let end = endOfParts(resolved(asked, {}), asked.request, 0);
  let count = 0;
  try {
    for await (const { isEmpty, isFinal, outputs, ...told } of answers) {
      end = endOfParts(resolved(asked, toResolved(told)), asked.request, count);
      if (isEmpty) break;
      const part = { ...end, parts: undefined, outputs: { kind: "tensors", tensors: outputs } as const };
      const headed = count === 0 ? { ...part, metadata: told.metadata } : part;
      if (isFinal === true && count === 0) return headed;
      count++;
      call.record?.gavePart(performance.now());
      await parts?.write(headed);
    }
  } catch (reason) {
    assertInTime(call, reason);
    if (count > 0 || ServingError.from(reason).code !== "unimplemented") throw reason;
    return undefined;
  }
  if (count === 0) call.record?.beginParts();
  return { ...end, parts: count };
}

function toKserve({ ref, request }: Asked, inputs: Tensors): KserveRequest {
  const { signature, outputs = [], call } = request;
  const version = ref.version === undefined ? {} : { version: String(ref.version) };
  // Those of generate may have names that the other server would take for its own.
  const own = modelParameters(new Map(Object.entries(call.parameters ?? {})));
  const parameters = { ...own, ...(signature.name !== "" && { signature_name: signature.name }) };
  return { model: ref.model, ...version, id: call.id, inputs, outputs, parameters };
}

function toResolved({ model, version }: Pick<InferAnswer, "model" | "version">): Partial<Resolved> {
  return { model, ...(/^\d+$/.test(version) && { version: BigInt(version) }) };
}

type TensorCall = AnswerLimits & { readonly tensors: Tensors };

async function inferTensors(client: Client, asked: Asked, call: TensorCall): Promise<InferResponse> {
  const { model, version, label } = asked.ref;
  const { signature, outputs = [], call: options } = asked.request;
  const chosen = { ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
  const spec = { model, signature: signature.name, ...chosen, versionEncoding: call.versionEncoding };
  const message = await encodeRequest({ spec, inputs: call.tensors, outputFilter: outputs }, options);
  const answer = await callUnary(client, PREDICT_PATH, { message, call: options });
  const decode = decoder(PREDICT_DECODING, options, call.maxMessageBytes);
  const decoded = await readAnswer(() => decode(answer.message));
  return {
    ...resolved(asked, decoded.spec),
    outputs: { kind: "tensors", tensors: decoded.outputs },
    metadata: answer.metadata,
  };
}

async function inferJson(client: Client, asked: Asked, { json }: JsonPayload): Promise<InferResponse> {
  const { call } = asked.request;
  const message = await encodeJson(json, call);
  const answer = await callUnary(client, PREDICT_JSON_PATH, { message, call });
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

const PREDICT_DECODING = { quickly: decodePredictResponseQuickly, job: decodePredictResponseJob };

/** In the main thread a codec thread does long work; in a hook's thread it delays only that thread. */
function decoder<Answer>(decoding: Decoding<Answer>, { signal, memory }: CallOptions, maxBytes: number) {
  return (message: Buffer) =>
    isMainThread ? decodeMessage(decoding, { message, maxBytes, signal, memory }) : decoding.job.run(message, maxBytes);
}

async function refuseControl(): Promise<never> {
  throw new ServingError("unimplemented", "This is a proxy; load and unload models at the server behind it.");
}
