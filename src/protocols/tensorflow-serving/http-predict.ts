import { invalidArgument } from "../../errors.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { PartChoice } from "../../proxy/part-form.ts";
import type { CallOptions, InferenceService, InferResponse, Lease, ModelRef } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { type ChosenSignature, toPlainSignatures } from "../../tensor/signature/choose-signature.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { textAnswer } from "../text-answer.ts";
import { wantedOutputs } from "./grpc-signature.ts";
import {
  decodePredictJob,
  findSignature,
  type PredictBody,
  type PredictFormat,
  type PredictMessage,
  parsePredictBody,
  readInputs,
  usedNames,
  type ValuesForm,
} from "./http-request.ts";
import { hasFewLists, versionHeaders, writePredictionsJob, writePredictionsTo } from "./http-response.ts";
import { checkMethodName } from "./method-names.ts";

/** A predict request of the REST API. */
export interface PredictRequest {
  readonly ref: ModelRef;
  /** Its JSON, unless it has to be converted. */
  readonly body: Uint8Array;
  /** Converts the body to JSON for the model that runs it, the form of whose inputs it needs. */
  readonly convert?: ((description: ServableDescription) => Promise<Uint8Array>) | undefined;
  /** The JSON as it was read; absent = it is read here. */
  readonly parsed?: PredictBody | undefined;
  /** The form that its values had before they were JSON, and have in it. */
  readonly form?: ValuesForm | undefined;
  /** Absent = it is another protocol's, to which they do not apply. */
  readonly settings?: ProtocolSettings;
  /** Turns an error of the inputs, or of the model that runs them, into one that says more. */
  readonly explain?: ((reason: unknown, description: ServableDescription) => unknown) | undefined;
  /** Writes the answer. Default: as `:predict` does. */
  readonly write?: WritePredicted | undefined;
  /** An answer in parts; absent = there is one answer. */
  readonly inParts?: PartChoice | ChooseParts | undefined;
  /** Writes a part. Default: as `:predict` writes an answer. */
  readonly writePart?: WritePredicted | undefined;
}

/** Chooses the parts in which a model answers; undefined = one answer. */
type ChooseParts = (description: ServableDescription) => PartChoice | undefined;

/** Writes the answer of a model. */
export type WritePredicted = (predicted: Predicted, exchange: HttpExchange) => Promise<HttpAnswer>;

/** Answers `:predict` in the words of TensorFlow Serving's REST API. */
export async function answerPredict(
  service: InferenceService,
  request: PredictRequest,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const { ref, body, convert, explain, form = {}, settings, write = toPredictions, inParts, writePart } = request;
  exchange.record.model = ref.model;
  const call = exchange.callInfo();
  // As in the original, invalid JSON is reported before a missing model; a large body is parsed once the model is
  // known.
  const { parsed = convert ? undefined : parseSmall(body, form, exchange) } = request;
  const received = { body, convert, explain, form, parsed, settings, call };
  const lease = await service.acquire(ref, call);
  const choice = typeof inParts === "function" ? inParts(lease.description) : inParts;
  if (choice === undefined) return write(await infer(lease, received, exchange), exchange);
  const run: PartedPredict["run"] = (send) => infer(lease, received, exchange, send);
  return answerPredictedParts(choice, { run, write, writePart }, exchange);
}

function parseSmall(body: Uint8Array, form: ValuesForm, { maxMessageBytes }: HttpExchange): PredictBody | undefined {
  return body.length > LARGE_MESSAGE_BYTES
    ? undefined
    : parsePredictBody(body, new DecodeBudget(maxMessageBytes), form);
}

/** A request whose answer may come in parts, which `send` takes. */
interface PartedPredict {
  readonly run: (send: (part: Predicted) => Promise<void>) => Promise<Predicted>;
  /** Writes the only answer. */
  readonly write: WritePredicted;
  readonly writePart?: WritePredicted | undefined;
}

/** Answers with the parts of what a model predicts, each as `:predict` writes an answer unless it is said otherwise. */
export function answerPredictedParts(
  choice: PartChoice,
  { run, write, writePart = (part) => toPredictions(part, exchange, true) }: PartedPredict,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  return answerInParts<Predicted>(choice, exchange, {
    run: async (send) => {
      const predicted = await run(send);
      return { ...predicted, parts: predicted.answer.parts };
    },
    toPart: (part) => writePart(part, exchange),
    toAnswer: (predicted) => write(predicted, exchange),
  });
}

/** The answer of a model, and the form in which the API gives it. */
export interface Predicted {
  readonly signature: ChosenSignature;
  readonly format: PredictFormat;
  readonly answer: InferResponse;
  /** As in the answer; absent where that is the only one. */
  readonly parts?: number | undefined;
}

/** Writes the answer of `:predict`, in a codec thread if it is large; `isOneLine` = without line breaks. */
export async function toPredictions(
  { signature, format, answer }: Predicted,
  exchange: HttpExchange,
  isOneLine = false,
): Promise<HttpAnswer> {
  const outputs = answeredTensors(answer);
  if (signature.spec?.outputs !== undefined && Object.keys(outputs).length === 0) {
    throw invalidArgument("Cannot convert empty tensor map to JSON");
  }
  const text = {
    tensors: Object.values(outputs),
    job: writePredictionsJob,
    args: [outputs, format, isOneLine] as const,
    write:
      hasFewLists(outputs, format) &&
      ((writer: JsonWriter) => writePredictionsTo(writer, outputs, { format, isOneLine })),
  };
  return { contentType: "application/json", ...(await textAnswer(text, exchange)), ...versionHeaders(answer) };
}

interface ReceivedPredict extends Pick<PredictRequest, "body" | "convert" | "explain"> {
  readonly form: ValuesForm;
  /** Undefined for a large body, and for one that has to be converted. */
  readonly parsed: PredictBody | undefined;
  readonly settings: ProtocolSettings | undefined;
  readonly call: CallOptions;
}

async function infer(
  lease: Lease,
  received: ReceivedPredict,
  exchange: HttpExchange,
  send?: (part: Predicted) => Promise<void>,
): Promise<Predicted> {
  const { convert, explain, form, settings, call } = received;
  const { description } = lease;
  try {
    const body = convert ? await convert(description) : received.body;
    const parsed = convert ? parseSmall(body, form, exchange) : received.parsed;
    const large =
      parsed === undefined ? await decodeLarge({ body, form }, description.signatures, exchange) : undefined;
    const { signature: name, outputFilter } = large ?? (parsed as PredictBody);
    const used = parsed ? usedNames(parsed) : { inputs: Object.keys(large?.inputs ?? {}), outputs: outputFilter };
    const signature = findSignature(name, description, used);
    const outputs = wantedOutputs(outputFilter, signature.spec, settings);
    const { format, inputs } = large ?? readInputs(parsed as PredictBody, signature.spec);
    checkMethodName("predict", signature.spec, settings);
    const parts = send && { write: (answer: InferResponse) => send({ signature, format, answer }) };
    const answer = await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, outputs, parts, call });
    return { signature, format, answer };
  } catch (reason) {
    throw explain === undefined ? reason : explain(reason, description);
  } finally {
    lease.release();
  }
}

function decodeLarge(
  { body, form }: Pick<ReceivedPredict, "body" | "form">,
  signatures: ServableDescription["signatures"],
  exchange: HttpExchange,
): Promise<PredictMessage> {
  const { maxMessageBytes } = exchange;
  return exchange.decode(decodePredictJob, [body, toPlainSignatures(signatures), maxMessageBytes, form], body);
}
