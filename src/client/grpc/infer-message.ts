import { invalidArgument } from "../../errors.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { type InputFields, readInput } from "../../protocols/kserve/grpc-request.ts";
import { fromRaw, toRaw } from "../../protocols/kserve/raw-tensor.ts";
import { varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import { bytesTag, MAP_ENTRY, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
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
import { createTensors, type Tensor } from "../../tensor/tensor.ts";
import type { InferAnswer, InferRequest } from "../transport.ts";

/** URL path of a method of KServe V2. */
export function methodPath(method: string): string {
  return `/inference.GRPCInferenceService/${method}`;
}

/**
 * Field numbers of inference.ModelInferRequest, ModelInferResponse,
 * ModelStreamInferResponse, their tensors and parameters.
 */
const REQUEST = { model: 1, version: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, raw: 7 } as const;
const RESPONSE = { model: 1, version: 2, id: 3, outputs: 5, raw: 6 } as const;
const STREAM = { error: 1, response: 2 } as const;
const TENSOR = { name: 1, datatype: 2, shape: 3 } as const;
const PARAMETER = { bool: 1, int64: 2, string: 3, double: 4 } as const;

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

function headParts(name: string, { dtype, shape }: Tensor): WirePart[] {
  const datatype = datatypeOf(dtype)?.name;
  if (datatype === undefined)
    throw invalidArgument(`"${name}" is ${dtype}, for which KServe V2 has no datatype; send its parts as floats.`);
  const sizes = shape.length === 0 ? [] : [varintsField(TENSOR.shape, BigInt64Array.from(shape, BigInt))];
  return [textElement(TENSOR.name, name), textField(TENSOR.datatype, datatype), ...sizes];
}

function parameterParts(name: string, value: string | number | boolean): WirePart[] {
  return [textElement(MAP_ENTRY.key, name), messageField(MAP_ENTRY.value, [choiceOf(value)])];
}

function choiceOf(value: string | number | boolean): WirePart {
  if (typeof value === "string") return textElement(PARAMETER.string, value);
  if (typeof value === "boolean") return integerField(PARAMETER.bool, Number(value));
  return Number.isSafeInteger(value) ? integerField(PARAMETER.int64, value) : doubleField(PARAMETER.double, value);
}

/** Reads a ModelInferResponse; its tensors may view `bytes`. Throws `invalid_argument` for any other bytes. */
export function decodeInferResponse(bytes: Uint8Array): InferAnswer {
  return readResponse(new WireReader(bytes, "ModelInferResponse"));
}

/** Reads a ModelStreamInferResponse, an answer or an error, likewise. */
export function decodeStreamResponse(bytes: Uint8Array): InferAnswer & { readonly errorText: string } {
  const reader = new WireReader(bytes, "ModelStreamInferResponse");
  let answer: InferAnswer = { id: "", model: "", version: "", outputs: createTensors() };
  let errorText = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(STREAM.error)) errorText = reader.text();
    else if (tag === bytesTag(STREAM.response)) answer = readResponse(reader.nested("ModelInferResponse"));
    else if (tag >>> 3 === RESPONSE.outputs) throw reader.malformed("its answers are not Triton's, but MLServer's");
    else reader.skip(tag);
  }
  return { ...answer, errorText };
}

function readResponse(reader: WireReader): InferAnswer {
  const budget = new DecodeBudget(Number.POSITIVE_INFINITY);
  const texts = { [RESPONSE.model]: "", [RESPONSE.version]: "", [RESPONSE.id]: "" };
  const heads: InputFields[] = [];
  const raw: Uint8Array[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if ((tag & 7) !== WIRE.bytes) reader.skip(tag);
    else if (field in texts) texts[field as keyof typeof texts] = reader.text();
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
