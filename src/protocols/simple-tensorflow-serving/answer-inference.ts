import { invalidArgument } from "../../errors.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferenceService, InferResponse } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { type ChosenSignature, chooseSignature, toPlainSignature } from "../../tensor/signature/choose-signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { versionHeaders } from "../tensorflow-serving/http-version.ts";
import { parseForm, parseFormJob } from "./form-request.ts";
import { readFormTensors } from "./form-tensors.ts";
import {
  type InferenceHead,
  parseJsonRequest,
  readHeadJob,
  readTensors,
  readTensorsJob,
  writeOutputs,
  writeOutputsJob,
} from "./http-codec.ts";

/** A request of which the choices are known, and not yet the model. */
interface ReadRequest {
  readonly head: InferenceHead;
  /** The tensors for a signature. */
  readonly tensors: (signature: ChosenSignature) => Tensors | Promise<Tensors>;
}

/**
 * Answers `POST /`: JSON or a form in, an object of outputs out. Throws `invalid_argument`, as the original answers 400
 * to whatever a client does wrong.
 */
export async function answerInference(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const { head, tensors } = await readRequest(exchange);
  const { version, signature: name } = head;
  const model = chooseModel(service, head.model);
  exchange.record.model = model;
  const call = exchange.callInfo();
  const lease = await service.acquire({ model, version }, call);
  try {
    const signature = findSignature(name, lease.description);
    const inputs = await tensors(signature);
    const answer = await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, call });
    return await toOutputsAnswer(answer, exchange);
  } finally {
    lease.release();
  }
}

function readRequest(exchange: HttpExchange): Promise<ReadRequest> {
  if (exchange.mediaType === "application/json") return readJson(exchange);
  if (exchange.mediaType === "multipart/form-data") return readMultipart(exchange);
  throw invalidArgument("Error, unsupported content type");
}

async function readJson(exchange: HttpExchange): Promise<ReadRequest> {
  const body = await exchange.readBody();
  const { maxMessageBytes: maxBytes } = exchange;
  if (body.length <= LARGE_MESSAGE_BYTES) {
    const request = parseJsonRequest(body, maxBytes);
    return {
      head: request.head,
      tensors: (signature) => readTensors(request, signature.spec ?? {}, encodedInput(signature)),
    };
  }
  const { head, body: returned } = await exchange.decode(readHeadJob, [body, maxBytes], body);
  const tensors = (signature: ChosenSignature) => {
    const known = toPlainSignature(signature.spec ?? {});
    return exchange.decode(readTensorsJob, [returned, known, encodedInput(signature), maxBytes], returned);
  };
  return { head, tensors };
}

async function readMultipart(exchange: HttpExchange): Promise<ReadRequest> {
  const { "content-type": type = "" } = exchange.request.headers;
  const body = await exchange.readBody();
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const form = isLarge ? await exchange.decode(parseFormJob, [body, type], body) : await parseForm(body, type);
  const tensors = ({ spec }: ChosenSignature) => readFormTensors(form, spec ?? {}, exchange);
  return { head: form.head, tensors };
}

/** The tensor of estimators that the original decodes if a request says `base64_decode`. */
const EXAMPLE_TENSOR = "input_example_tensor:0";

function encodedInput({ spec }: ChosenSignature): string | undefined {
  return spec?.inputs?.find(({ nativeName }) => nativeName === EXAMPLE_TENSOR)?.name;
}

function findSignature(name: string, { signatures }: ServableDescription): ChosenSignature {
  const chosen = chooseSignature(name, signatures);
  if (chosen !== undefined) return chosen;
  throw invalidArgument(`Fail to request the signature name: ${name}, please check the request JSON`);
}

/** The model of a request that names none. */
const DEFAULT_MODEL = "default";
/** Names that an error lists. */
const MAX_NAMES = 20;

/**
 * The model that a request means: the one that it names, else `default`, or the only one. Throws `invalid_argument`
 * with the original's text for a model that is not served; where another server answers, that one decides.
 */
function chooseModel(service: InferenceService, name: string | undefined): string {
  const served = [...new Set(service.index().map(({ model }) => model))];
  if (name === undefined && served.length <= 1) return "";
  const model = name ?? DEFAULT_MODEL;
  if (served.length === 0 || served.includes(model)) return model;
  const names = served.slice(0, MAX_NAMES).map((each) => `'${each}'`);
  throw invalidArgument(`Invalid model name: ${model}, available models: [${names.join(", ")}]`);
}

/**
 * The answer to an inference request: an object with a value for each output, written
 * in a codec thread if it is large.
 */
async function toOutputsAnswer(response: InferResponse, exchange: HttpExchange): Promise<HttpAnswer> {
  const outputs = answeredTensors(response);
  const isLarge = isLargeText(Object.values(outputs));
  const body = isLarge ? await exchange.encode(writeOutputsJob, [outputs]) : writeOutputs(outputs);
  return { contentType: "application/json", body, ...versionHeaders(response) };
}
