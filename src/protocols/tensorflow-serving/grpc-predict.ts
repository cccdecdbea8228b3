import { ServingError } from "../../errors.ts";
import { type FramedMessage, framedBytes } from "../../grpc/framed-message.ts";
import type {
  CallInfo,
  GrpcProtocolOptions,
  StreamExchange,
  StreamMethod,
  UnaryMethod,
} from "../../grpc/grpc-route.ts";
import { followSignal } from "../../platform/async/cancel-source.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import type { InferenceService, InferResponse, Lease, PartSink } from "../../serving/inference-service.ts";
import { answeredTensors } from "../answered-tensors.ts";
import {
  decodePredictRequestJob,
  decodePredictRequestQuickly,
  framePredictResponse,
  framePredictResponseJob,
  isLargeResponse,
  type PredictRequest,
} from "./grpc-codec.ts";
import { checkSignature, wantedOutputs } from "./grpc-signature.ts";
import { assertNamesModel } from "./model-spec.ts";

/** PredictionService.Predict: one answer. */
export function predictMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  return async (message, call) => {
    const predicting = { service, options, call };
    const request = await readRequest(message, predicting);
    const answer = await infer(request, predicting);
    const { metadata } = answer;
    return { message: await frame(answer, request, predicting), metadata };
  };
}

/**
 * PredictionService.PredictStreamed: the parts of an answer to the one request of a stream, a message each. The
 * definitions that TensorFlow Serving publishes have its options and texts, and its servers' interface, but not the
 * method.
 */
export function predictStreamedMethod(service: InferenceService, options: GrpcProtocolOptions): StreamMethod {
  return async (exchange) => {
    const { source } = followSignal(exchange.signal);
    const messages = exchange.messages[Symbol.asyncIterator]();
    try {
      const first = await messages.next();
      if (first.done === true)
        throw new ServingError("failed_precondition", "PredictStreamed requires at least one request");
      exchange.isWorking = true;
      const call = { ...exchange, signal: source };
      const answered = answerStreamed(first.value, exchange, { service, options, call });
      await Promise.race([answered, messages.next().then((next) => (next.done === true ? answered : refuseMore()))]);
    } finally {
      source.abort(new DOMException("The stream ended.", "AbortError"));
    }
  };
}

function refuseMore(): never {
  throw new ServingError(
    "unimplemented",
    "PredictStreamed already received one request. Accepting more than one request in a stream is not supported yet",
  );
}

/** A call, and what answers it. */
interface Predicting {
  readonly service: InferenceService;
  readonly options: GrpcProtocolOptions;
  readonly call: CallInfo;
}

async function answerStreamed(message: Uint8Array, exchange: StreamExchange, predicting: Predicting): Promise<void> {
  const { memory, signal, record } = predicting.call;
  record.received(message.length);
  const request = await readRequest(message, predicting);
  const write = async (part: InferResponse) => {
    const framed = await frame(part, request, predicting);
    const bytes = memory.beyondPart(framedBytes(framed));
    memory.grow(bytes);
    await exchange.write(framed).finally(() => memory.shrink(bytes));
    signal.throwIfAborted();
  };
  const answer = await infer(request, predicting, { write });
  if (answer.parts === undefined) await write(answer);
}

async function readRequest(message: Uint8Array, { options, call }: Predicting): Promise<PredictRequest> {
  const { maxMessageBytes: maxBytes, settings } = options;
  const request =
    decodePredictRequestQuickly(message, maxBytes) ??
    (await decodeInThread(decodePredictRequestJob, [message, maxBytes], { ...call, message, maxBytes }));
  if (settings.requireModelSpec) assertNamesModel(request.spec);
  call.record.model = request.spec.model;
  return request;
}

async function infer(
  request: PredictRequest,
  { service, options: { settings }, call }: Predicting,
  parts?: PartSink,
): Promise<InferResponse> {
  const lease: Lease = await service.acquire(request.spec, call);
  try {
    const { inputs, outputFilter } = request;
    const signature = checkSignature(request, lease.description, settings);
    const outputs = wantedOutputs(outputFilter, signature.spec, settings);
    return await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, outputs, parts, call });
  } finally {
    lease.release();
  }
}

/** Large values are borrowed if the code that gave them does not use them any more. */
function frame(
  answer: InferResponse,
  { spec: { versionEncoding } }: PredictRequest,
  { options, call }: Predicting,
): FramedMessage | Promise<FramedMessage> {
  const encoding = options.settings.tensorContent ? "content" : "typed";
  const { model, version, signature } = answer;
  const response = { spec: { model, version, signature, versionEncoding }, outputs: answeredTensors(answer) };
  return isLargeResponse(response, encoding)
    ? encodeInThread(framePredictResponseJob, [response, encoding, true], call)
    : framePredictResponse(response, encoding, call.memory.isWireOnly);
}
