import { type ErrorCode, invalidArgument, reasonText, ServingError, toErrorCode } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, decodeQuickly } from "../../platform/limits/memory/decode-budget.ts";
import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { VIEWED_CONTENTS } from "../../protocols/kserve/grpc-contents.ts";
import { readParameter } from "../../protocols/kserve/grpc-parameters.ts";
import { type InputFields, readInput } from "../../protocols/kserve/grpc-request.ts";
import { ERROR_CODE, ERROR_CODES, type Parameter } from "../../protocols/kserve/parameters.ts";
import { fromRaw, toRaw } from "../../protocols/kserve/raw-tensor.ts";
import { varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import { isQuickToRead, type ValuePlaces } from "../../tensor/codecs/protobuf/quick-look.ts";
import { bytesTag, MAP_ENTRY, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  doubleField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/** A request to a model. */
export interface InferRequest {
  readonly model: string;
  /** Absent = the server's choice. */
  readonly version?: string;
  readonly id?: string;
  readonly inputs: Tensors;
  /** Names of the wanted outputs; empty = all. */
  readonly outputs?: readonly string[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
}

/** The answer of a model. */
export interface InferAnswer {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly outputs: Tensors;
}

/** URL path of a method of KServe V2. */
export function methodPath(method: string): string {
  return `/inference.GRPCInferenceService/${method}`;
}

/**
 * Field numbers of inference.ModelInferRequest, ModelInferResponse,
 * ModelStreamInferResponse, their tensors and parameters.
 */
const REQUEST = { model: 1, version: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, raw: 7 } as const;
const RESPONSE = { model: 1, version: 2, id: 3, parameters: 4, outputs: 5, raw: 6 } as const;
const STREAM = { error: 1, response: 2 } as const;
const TENSOR = { name: 1, datatype: 2, shape: 3, contents: 5 } as const;
const PARAMETER = { bool: 1, int64: 2, string: 3, double: 4, uint64: 5 } as const;

/** Writes a ModelInferRequest, values as raw contents. Throws `invalid_argument` for complex numbers. */
export function encodeInferRequest(request: InferRequest): Buffer {
  const { model, version = "", id = "", inputs, outputs = [], parameters = {} } = request;
  const entries = Object.entries(inputs);
  return encodeMessage([
    textField(REQUEST.model, model),
    textField(REQUEST.version, version),
    textField(REQUEST.id, id),
    ...Object.entries(parameters).map(([name, value]) => messageField(REQUEST.parameters, parameterParts(name, value))),
    ...entries.map(([name, tensor]) => messageField(REQUEST.inputs, headParts(name, tensor))),
    ...outputs.map((name) => messageField(REQUEST.outputs, [textElement(TENSOR.name, name)])),
    ...entries.map(([, tensor]) => bytesField(REQUEST.raw, toRaw(tensor))),
  ]);
}

/** {@link encodeInferRequest} for a codec thread. */
export const encodeInferRequestJob = defineJob(import.meta.url, "encodeInferRequestJob", encodeInferRequest);

function headParts(name: string, { dtype, shape }: Tensor): WirePart[] {
  const datatype = datatypeOf(dtype)?.name;
  if (datatype === undefined)
    throw invalidArgument(`"${name}" is ${dtype}, for which KServe V2 has no datatype; send its parts as floats.`);
  const sizes = shape.length === 0 ? [] : [varintsField(TENSOR.shape, BigInt64Array.from(shape, BigInt))];
  return [textElement(TENSOR.name, name), textField(TENSOR.datatype, datatype), ...sizes];
}

function parameterParts(name: string, value: Parameter): WirePart[] {
  return [textElement(MAP_ENTRY.key, name), valueField(value)];
}

const MAX_INT64 = 2n ** 63n - 1n;

function valueField(value: Parameter): WirePart {
  if (typeof value === "string") return messageField(MAP_ENTRY.value, [textElement(PARAMETER.string, value)]);
  if (typeof value === "number" && !Number.isSafeInteger(value))
    return messageField(MAP_ENTRY.value, [doubleField(PARAMETER.double, value)]);
  const field = typeof value === "boolean" ? PARAMETER.bool : value > MAX_INT64 ? PARAMETER.uint64 : PARAMETER.int64;
  // One of several kinds: 0 and false have to be written too.
  if (Number(value) === 0) return bytesField(MAP_ENTRY.value, Uint8Array.of(tagOf(field, WIRE.varint), 0));
  return messageField(MAP_ENTRY.value, [integerField(field, BigInt(value))]);
}

/** The path of Triton's streams. */
export const STREAM_PATH = methodPath("ModelStreamInfer");
/** Asks for an end that is told even if no part is left. */
const WITH_END = { triton_enable_empty_final_response: true };

/**
 * A request for an answer in parts, alone on its stream. Its errors stay in the stream: gRPC's client gives up the
 * parts that are not read yet when it learns of a status.
 */
export function askParts(request: InferRequest): InferRequest {
  return { ...request, parameters: { ...request.parameters, ...WITH_END } };
}

/** An answer of a stream, or an error, as Triton and servers like it send them. */
interface StreamedAnswer extends InferAnswer {
  /** Empty = there is none. */
  readonly errorText: string;
  /** `unknown` if the server does not say. */
  readonly errorCode: ErrorCode;
  /** True if its request has no further answers; undefined = the server does not say. */
  readonly isFinal: boolean | undefined;
}

/** Parameter of the answers of a stream. */
const FINAL = "triton_final_response";

/** The metadata of a stream, whose errors are to have codes. */
export function streamMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...metadata, [ERROR_CODES]: "true" };
}

/**
 * Reads a ModelInferResponse; its tensors may view `bytes`, and `maxBytes` bounds what they take beyond it. Throws
 * `invalid_argument` for any other bytes.
 */
export function decodeInferResponse(bytes: Uint8Array, maxBytes = Number.POSITIVE_INFINITY): InferAnswer {
  return readWhole(bytes, new DecodeBudget(maxBytes));
}

/** Reads a ModelStreamInferResponse, likewise; `maxBytes` limits what its tensors take beyond it. */
export function decodeStreamResponse(bytes: Uint8Array, maxBytes = Number.POSITIVE_INFINITY): StreamedAnswer {
  return readStreamed(bytes, new DecodeBudget(maxBytes));
}

/** {@link decodeInferResponse} for a codec thread, which finds it by its name. @public */
export const decodeInferResponseJob = defineJob(import.meta.url, "decodeInferResponseJob", decodeInferResponse);

/** {@link decodeStreamResponse} for a codec thread, likewise. @public */
export const decodeStreamResponseJob = defineJob(import.meta.url, "decodeStreamResponseJob", decodeStreamResponse);

/** Places of a ModelInferResponse's values that may be viewed. */
const WHOLE = { nesting: [RESPONSE.outputs, TENSOR.contents], viewedFields: VIEWED_CONTENTS, rawField: RESPONSE.raw };
const STREAMED = { ...WHOLE, nesting: [STREAM.response, ...WHOLE.nesting], rawDepth: 1 };

/** The ways to {@link decodeInferResponse}. */
export const INFER_DECODING = { quickly: unlessLong(WHOLE, readWhole), job: decodeInferResponseJob };

/** The ways to {@link decodeStreamResponse}. */
export const STREAM_DECODING = { quickly: unlessLong(STREAMED, readStreamed), job: decodeStreamResponseJob };

function unlessLong<Answer>(places: ValuePlaces, read: (bytes: Uint8Array, budget: DecodeBudget) => Answer) {
  return (bytes: Uint8Array, maxBytes: number): Answer | undefined => {
    if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, places)) return undefined;
    return decodeQuickly(maxBytes, (budget) => read(bytes, budget));
  };
}

function readWhole(bytes: Uint8Array, budget: DecodeBudget): InferAnswer {
  return readResponse(new WireReader(bytes, "ModelInferResponse"), { parameters: new Map(), budget });
}

function readStreamed(bytes: Uint8Array, budget: DecodeBudget): StreamedAnswer {
  const reader = new WireReader(bytes, "ModelStreamInferResponse");
  let answer: InferAnswer = { id: "", model: "", version: "", outputs: createTensors() };
  let errorText = "";
  const parameters = new Map<string, Parameter>();
  const limits = { parameters, budget };
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(STREAM.error)) errorText = reader.text();
    else if (tag === bytesTag(STREAM.response)) answer = readResponse(reader.nested("ModelInferResponse"), limits);
    else if (tag >>> 3 === RESPONSE.outputs) throw reader.malformed("its answers are not Triton's, but MLServer's");
    else reader.skip(tag);
  }
  const isFinal = parameters.get(FINAL);
  const errorCode = toErrorCode(parameters.get(ERROR_CODE));
  return { ...answer, errorText, errorCode, isFinal: typeof isFinal === "boolean" ? isFinal : undefined };
}

/** The errors of a stream of parts, as its reader tells them. */
export interface PartErrors {
  /** The server's own, in place of a part. */
  readonly answered: (text: string, code: ErrorCode) => Error;
  /** A message that is not one of the protocol. */
  readonly unreadable: (cause: unknown) => Error;
  /** The end of the stream before the last part, or without any. */
  readonly cut: () => Error;
}

const PLAIN_ERRORS: PartErrors = {
  answered: (text, code) => new ServingError(code, text),
  unreadable,
  cut: () => new ServingError("internal", "The remote server ended its stream before the answer was whole."),
};

/** One that cannot be read is not the client's fault; any other reason stays as it is. */
function unreadable(cause: unknown): ServingError {
  const reason = ServingError.from(cause);
  if (reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `The remote server's answer cannot be read: ${reasonText(cause)}`, { cause });
}

/** Reads an answer; one that cannot be read is not the client's fault, and rejects with `internal`. */
export async function readAnswer<T>(
  read: () => T | Promise<T>,
  toError: PartErrors["unreadable"] = unreadable,
): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw toError(cause);
  }
}

interface PartsOptions {
  readonly errors?: PartErrors;
  /** Decodes a part. Default: {@link decodeStreamResponse}, of any size. */
  readonly decode?: (message: Buffer) => StreamedAnswer | Promise<StreamedAnswer>;
}

/** A part of an answer. */
interface AnswerPart extends StreamedAnswer {
  /** True if it only says that nothing follows. */
  readonly isEmpty: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The parts of an answer that is alone on its stream, until the one that is said to be the last. A server that says it
 * of none has given all once the stream ends.
 */
export async function* readParts(
  answers: AsyncIterable<{ readonly message: Buffer; readonly metadata: Readonly<Record<string, string>> }>,
  { errors = PLAIN_ERRORS, decode = (message) => decodeStreamResponse(message) }: PartsOptions = {},
): AsyncGenerator<AnswerPart, void, undefined> {
  let isWhole = false;
  for await (const { message, metadata } of answers) {
    const answer = await readAnswer(() => decode(message), errors.unreadable);
    const { isFinal, outputs, errorText, errorCode } = answer;
    if (errorText !== "") throw errors.answered(errorText, errorCode);
    yield { ...answer, metadata, isEmpty: isFinal === true && Object.keys(outputs).length === 0 };
    if (isFinal === true) return;
    isWhole = isFinal === undefined;
  }
  if (!isWhole) throw errors.cut();
}

/** The parameters of a response, which are filled, and what its tensors may take. */
interface ReadResponse {
  readonly parameters: Map<string, Parameter>;
  readonly budget: DecodeBudget;
}

function readResponse(reader: WireReader, { parameters, budget }: ReadResponse): InferAnswer {
  const texts = { [RESPONSE.model]: "", [RESPONSE.version]: "", [RESPONSE.id]: "" };
  const heads: InputFields[] = [];
  const raw: Uint8Array[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if ((tag & 7) !== WIRE.bytes) reader.skip(tag);
    else if (field in texts) texts[field as keyof typeof texts] = reader.text();
    else if (field === RESPONSE.parameters) readParameter(reader, parameters, budget);
    else if (field === RESPONSE.outputs) heads.push(readInput(reader, budget));
    else if (field === RESPONSE.raw) raw.push(reader.bytes());
    else reader.skip(tag);
  }
  const model = texts[RESPONSE.model];
  const outputs = heads.map(({ head, contents }, index) => {
    const values = raw[index];
    const tensor = values === undefined ? contents.toTensor(head, model) : fromRaw(head, values, { model, budget });
    return [head.name, tensor] as const;
  });
  return { model, version: texts[RESPONSE.version], id: texts[RESPONSE.id], outputs: createTensors(outputs) };
}
