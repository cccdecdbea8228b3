import { hintedError } from "../../error-info.ts";
import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { nearest } from "../../platform/text/nearest.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import type { CsvColumn } from "../../tensor/codecs/csv-to-json-rows.ts";
import { decodeBase64, withoutSpaces } from "../../tensor/codecs/json/decode-base64.ts";
import { parseJson } from "../../tensor/codecs/json/json-reader.ts";
import {
  type JsonTensorRules,
  type Mismatch,
  mismatchHint,
  toJsonTensor,
} from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import { createRecord } from "../../tensor/record.ts";
import { fitsShape, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, MAX_RANK, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { csvColumns } from "../csv-columns.ts";
import { errorOfNamedRows, FRAME, SPLIT, soleInstances } from "../data-frames.ts";
import { toPredictBody } from "../sagemaker/http-codec.ts";
import type { PredictRequest } from "../tensorflow-serving/http-predict.ts";
import type { ValuesForm } from "../tensorflow-serving/http-request.ts";
import { isNamedInstance } from "../tensorflow-serving/http-rows.ts";
import { DTYPE_NAMES, dtypeOfName, dtypeOfNumber } from "./dtype-names.ts";

/**
 * The inputs, of which each single value of bytes has the dimension of an input that takes several, images among them:
 * a file of a form, and a text of JSON, have none.
 */
export function withDimension(inputs: Tensors, specs: readonly TensorSpec[] = []): Tensors {
  const isList = (spec: TensorSpec) =>
    takesImages(spec) || (spec.dtype === "bytes" && spec.shape !== undefined && fitsShape([1], spec.shape));
  const lists = specs.filter(({ name }) => isSingle(inputs[name])).filter(isList);
  if (lists.length === 0) return inputs;
  const listed = lists.map(
    ({ name }) => [name, createTensor("bytes", [1], (inputs[name] as Tensor<"bytes">).data)] as const,
  );
  return createTensors([...Object.entries(inputs), ...listed]);
}

function isSingle(tensor: Tensor | undefined): boolean {
  return tensor?.dtype === "bytes" && tensor.shape.length === 0;
}

/** A predict request of the original proxy, from JSON or a form. */
export interface KibernetikaRequest {
  readonly inputs: Tensors;
  /** Names of the outputs wanted; empty = all. */
  readonly outFilter: readonly string[];
  /** The media type for the only output; empty = JSON. */
  readonly outMimeType: string;
  /** True for files whose fields name no type: no program of the original's sends them, or reads the answer. */
  readonly isPlain?: boolean;
}

/**
 * Parses `{"inputs": {NAME: {"dtype", "data"}}, "out_filter": [NAME …], "out_mime_type": TYPE}`. `maxBytes` limits the
 * memory of the result.
 */
export function parseKibernetikaJson(body: Uint8Array, maxBytes: number): KibernetikaRequest {
  const budget = new DecodeBudget(maxBytes);
  return toRequest(parseJson(body, budget), budget);
}

/** {@link parseKibernetikaJson} for a codec thread. */
export const parseKibernetikaJsonJob = defineJob(import.meta.url, "parseKibernetikaJsonJob", parseKibernetikaJson);

/** The member of a request of TensorFlow Serving's REST API that a body is: rows, or columns by their names. */
type PlainMember = "instances" | "inputs";

const BYTES = { list: "[".charCodeAt(0), object: "{".charCodeAt(0), space: " ".charCodeAt(0) };

/** Bytes at the beginning of a body in which its form shows; more would take long to look through. */
const SHOWN_BYTES = 256 * 1024;
/** The member that the original's form has. */
const INPUTS = /"inputs"\s*:/;

/** Tells bodies of plain values, rows, columns or a data frame, from the original's form: undefined. */
export function plainMember(body: Buffer): PlainMember | "frame" | undefined {
  const first = body.subarray(0, SHOWN_BYTES).find((byte) => byte > BYTES.space);
  if (first === BYTES.list) return "instances";
  if (first !== BYTES.object) return undefined;
  const text = shownText(body);
  if (FRAME.test(text)) return "frame";
  return INPUTS.test(text) ? undefined : "inputs";
}

/** Tells a data frame of pandas' from columns for a model whose inputs are called as its members. */
const isSplit = (columns?: readonly CsvColumn[]) =>
  columns?.every(({ name }) => !/^(?:columns|data|index)$/.test(name));

function shownText(body: Buffer): string {
  return body.subarray(0, SHOWN_BYTES).toString("latin1");
}

/** A body of plain values: rows, columns, a data frame of MLflow's or of pandas' (split), or the lines of CSV. */
export type PlainForm = PlainMember | "frame" | "split" | "csv";

interface PlainChoice {
  readonly form: PlainForm;
  /** Empty = the default. */
  readonly signature: string;
}

/**
 * Reads a body of plain values as a request of TensorFlow Serving's REST API, which knows the model's inputs once it
 * has the model. Throws `invalid_argument` for one that is neither rows nor columns.
 */
export async function readPlainRequest(
  body: Buffer,
  choice: PlainChoice,
  exchange: HttpExchange,
): Promise<Pick<PredictRequest, "body" | "convert" | "explain" | "parsed" | "form">> {
  const [{ maxMessageBytes }, { form, signature }] = [exchange, choice];
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const ofValues = { isCsv: form === "csv", isPlain: true };
  const explain: PredictRequest["explain"] = (reason, description) =>
    errorOfNamedRows(reason, description, { signature, isCsv: ofValues.isCsv });
  const convert = async (as: PlainForm, columns?: readonly CsvColumn[]) =>
    isLarge
      ? exchange.decode(toPlainBodyJob, [body, { form: as, signature, columns }, maxMessageBytes], body)
      : toPlainBody(body, { form: as, signature, columns }, maxMessageBytes);
  if (form === "csv" || (form === "inputs" && SPLIT.test(shownText(body)))) {
    const asTold = (columns?: readonly CsvColumn[]) =>
      convert(form !== "csv" && isSplit(columns) ? "split" : form, columns);
    const toBody = async (description: ServableDescription) => (await asTold(csvColumns(description, signature))).json;
    return { body, convert: toBody, explain, form: ofValues };
  }
  if (isLarge || (form !== "instances" && form !== "inputs")) {
    const { json, before } = await convert(form);
    return { body: json, ...(form === "frame" && { explain }), form: { ...ofValues, before } };
  }
  const sole = form === "inputs" ? soleInstances(body) : undefined;
  const budget = new DecodeBudget(maxMessageBytes);
  const root = createRecord<JsonValue>();
  if (sole) root.instances = parseJson(sole.rows, budget, { before: sole.start });
  else root[form] = parsePlain(body, form, budget);
  return {
    body,
    parsed: { root, signature: signature || sole?.signature || "", outputFilter: [], budget, ...ofValues },
  };
}

interface PlainBody extends PlainChoice {
  /** Those of a model of tables, for CSV. */
  readonly columns?: readonly CsvColumn[] | undefined;
}

/** The JSON of a request of TensorFlow Serving's REST API. */
interface PlainJson extends Required<Pick<ValuesForm, "before">> {
  readonly json: Uint8Array;
}

/** The JSON of a request of TensorFlow Serving's REST API that has a body of plain values. */
function toPlainBody(body: Uint8Array, { form, signature, columns }: PlainBody, maxBytes: number): PlainJson {
  const sole = form === "inputs" ? soleInstances(body) : undefined;
  const { rows = body, start = 0, signature: named = "" } = sole ?? {};
  const head = `{"signature_name":${JSON.stringify(signature || named)},`;
  if (form === "instances" || form === "inputs") {
    const before = Buffer.from(`${head}"${sole ? "instances" : form}":`);
    return { json: Buffer.concat([before, rows, Buffer.from("}")]), before: start - before.length };
  }
  const frame = form === "split" ? Buffer.concat([Buffer.from('{"dataframe_split":'), body, Buffer.from("}")]) : body;
  const { json } = toPredictBody(frame, form === "csv" ? "csv" : "json", maxBytes, columns);
  return { json: Buffer.concat([Buffer.from(head), json.subarray(1)]), before: 0 };
}

/** Public for codec threads. @public */
export const toPlainBodyJob = defineJob(import.meta.url, "toPlainBodyJob", toPlainBody);

function parsePlain(body: Uint8Array, form: PlainMember, budget: DecodeBudget): JsonValue {
  const value = parseJson(body, budget);
  if (form === "instances") return value;
  const isColumns = isNamedInstance(value) && !Object.values(value).some(isNamedInstance);
  // Its errors say which members the original's form has.
  if (!isColumns || Object.keys(value).length === 0) toRequest(value, budget);
  return value;
}

function toRequest(root: JsonValue, budget: DecodeBudget): KibernetikaRequest {
  if (!isJsonObject(root)) throw invalidArgument(`The body is ${dumpJson(root)}; expected an object with "inputs".`);
  const { inputs, out_filter: outFilter = null, out_mime_type: outMimeType = null } = root;
  if (!isJsonObject(inputs)) throw invalidArgument(`"inputs" is missing or is not an object; expected ${BODIES}.`);
  if (outMimeType !== null && typeof outMimeType !== "string") {
    throw invalidArgument(`"out_mime_type" is ${dumpJson(outMimeType)}; expected a text such as "image/png".`);
  }
  const entries = Object.entries(inputs);
  budget.countInputs(entries.length);
  const tensors = entries.map(([name, input]) => [name, toInput(name, input)] as const);
  return { inputs: createTensors(tensors), outFilter: toNames(outFilter), outMimeType: outMimeType ?? "" };
}

function toNames(value: JsonValue): readonly string[] {
  if (value === null) return [];
  if (isJsonList(value) && value.every((name) => typeof name === "string")) return value as readonly string[];
  throw invalidArgument(`"out_filter" is ${dumpJson(value)}; expected a list of output names.`);
}

/** Forms of a body, and of an input: a request of TensorFlow Serving has plain values below "inputs". */
const BODIES = '{"inputs": {"NAME": {"dtype", "data"}}}, rows [{"NAME": …}] or columns {"NAME": […]}';
const FORMS = '{"dtype", "data"}, or plain values without "inputs" around them: {"NAME": […]}';

function toInput(name: string, input: JsonValue): Tensor {
  if (!isJsonObject(input)) throw invalidArgument(`Input "${name}" is ${dumpJson(input)}; expected ${FORMS}.`);
  if (input.data === undefined) throw invalidArgument(`Input "${name}" has no "data".`);
  return toJsonTensor(input.data, toDType(name, input), createKibernetikaRules(name));
}

function toDType(name: string, { dtype }: JsonObject): DType {
  let found: DType | undefined;
  if (typeof dtype === "string") found = dtypeOfName(dtype);
  else if (dtype instanceof JsonNumbers && dtype.shape.length === 0) found = dtypeOfNumber(Number(dtype.at(0)));
  if (found !== undefined) return found;
  const expected = `a number of TensorFlow's DataType (1 = float32, 3 = int32, 7 = string …) or a name such as "float32"`;
  throw hintedError(
    "invalid_argument",
    `Input "${name}" has dtype ${dtype === undefined ? "missing" : dumpJson(dtype)}; expected ${expected}.`,
    {
      ...{ reason: "WRONG_DTYPE", field: name, expected },
      ...(typeof dtype === "string" && { didYouMean: nearest(dtype.toLowerCase(), DTYPE_NAMES) }),
    },
  );
}

/** The original proxy's rules for one input's JSON, and messages that name the place of what breaks them. */
export function createKibernetikaRules(input: string): JsonTensorRules {
  return {
    integers: "values",
    overflow: "infinite",
    nullIsNaN: true,
    text: toBytes,
    object: (object) => decodeObject(input, object),
    refuse: (mismatch) => {
      const text = `Input "${input}": ${describe(mismatch)}`;
      return hintedError("invalid_argument", text, mismatchHint(input, mismatch));
    },
  };
}

/**
 * The bytes of a string: decoded if the whole of it is standard base64 with its
 * padding (line breaks aside), else its UTF-8. So did the original, whose clients
 * encode every string; the price is that a text such as `test` is decoded too.
 */
function toBytes(text: string): string | Uint8Array {
  if (/[^\S\r\n]/.test(text)) return text;
  const packed = /[\r\n]/.test(text) ? withoutSpaces(text) : text;
  const decoded = packed.length % 4 === 0 ? decodeBase64(packed) : undefined;
  return decoded ?? text;
}

function decodeObject(input: string, object: JsonObject): Uint8Array {
  const decoded = typeof object.b64 === "string" ? decodeBase64(object.b64) : undefined;
  if (decoded !== undefined && Object.keys(object).length === 1) return decoded;
  throw invalidArgument(
    `Input "${input}" has the element ${dumpJson(object)}; expected {"b64": BASE64} where an element is an object.`,
  );
}

function describe(mismatch: Mismatch): string {
  const place = `data${mismatch.path.map((index) => `[${index}]`).join("")}`;
  const expected = mismatch.shape[mismatch.path.length];
  switch (mismatch.kind) {
    case "type":
      return `${place} is ${dumpJson(mismatch.value)}; expected ${mismatch.dtype === "bytes" ? "a string" : mismatch.dtype}.`;
    case "size":
      return `${place} has ${mismatch.size} elements, but its first neighbour has ${expected}; a tensor cannot be ragged.`;
    case "list":
      return `${place} is a list, but its first neighbour is one value; a tensor cannot be ragged.`;
    case "value":
      return `${place} is one value, but its first neighbour is a list of ${expected}; a tensor cannot be ragged.`;
    case "rank":
      return `data is nested more than ${MAX_RANK} levels deep.`;
  }
}
