import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { MISSING_TEXT } from "../../tensor/codecs/csv.ts";
import { parseJson } from "../../tensor/codecs/json/json-reader.ts";
import { type JsonTensorRules, toJsonTensor } from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
  listLength,
} from "../../tensor/codecs/json/json-value.ts";
import { type ChosenSignature, chooseSignature, type UsedNames } from "../../tensor/signature/choose-signature.ts";
import {
  knownInputs,
  likelyDType,
  type Signature,
  type TensorSpec,
  takesImages,
} from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import {
  dtypeOfValues,
  isNamedInstance,
  type KnownInputs,
  readInstances,
  readNamedColumns,
  UNNAMED_INPUT,
} from "./http-rows.ts";
import { isBase64Object, rulesNaming, rulesOf, rulesWithMissing } from "./json-tensor-rules.ts";
import { namelessRows, plainErrors, type RowErrors, tensorflowErrors } from "./row-errors.ts";
import { columnsOfRows, readDataFrame, withoutMissingTexts } from "./table-rows.ts";

/** A predict request's JSON, before the model is known. */
export interface PredictBody extends ValuesForm {
  readonly root: JsonObject;
  /** Empty = the default signature. */
  readonly signature: string;
  /** Empty = all outputs. */
  readonly outputFilter: readonly string[];
  /** Memory that is left for its values. */
  readonly budget: DecodeBudget;
}

/** The form of a request's values, besides that of their JSON. */
export interface ValuesForm {
  /** True for rows that were CSV, in which null is an empty field. Default false. */
  readonly isCsv?: boolean;
  /**
   * True for values that came without a request of TensorFlow Serving's around them: errors name their rows and columns
   * as they were written, and without names they are for the only input of the model behind hooks that declare none,
   * and refused if it has several. Default: the hooks get them as {@link UNNAMED_INPUT}.
   */
  readonly isPlain?: boolean;
  /** Bytes of the body before the JSON, less those that were put before it: places in errors are those of the body. */
  readonly before?: number;
}

/** Parses the body of a predict request of a form. */
export function parsePredictBody(body: Uint8Array, budget: DecodeBudget, form: ValuesForm = {}): PredictBody {
  if (body.length === 0) throw invalidArgument("JSON Parse error: The document is empty");
  const root = parseJson(body, budget, { ignoreTrailing: true, before: form.before });
  return { budget, ...form, ...toPredictBody(root, budget) };
}

function toPredictBody(
  root: JsonValue,
  budget: DecodeBudget,
): Pick<PredictBody, "root" | "signature" | "outputFilter"> {
  if (!isJsonObject(root)) throw invalidArgument(`JSON Value: ${dumpJson(root)} Is not object`);
  // Null is as absent, as KServe's V1 servers take it; the original refuses it.
  const [signature, outputFilter] = [root.signature_name ?? "", root.output_filter ?? []];
  if (typeof signature !== "string")
    throw invalidArgument(
      `JSON Value: ${dumpJson(root)} not formatted correctly. 'signature_name' key must be a string value.`,
    );
  return { root, signature, outputFilter: readFilter(outputFilter, budget) };
}

function readFilter(filter: JsonValue, budget: DecodeBudget): readonly string[] {
  if (!isJsonList(filter) || !filter.every((name) => typeof name === "string")) {
    throw invalidArgument(
      `JSON Value: ${dumpJson(filter)} not formatted correctly. 'output_filter' key must be a list of output names.`,
    );
  }
  budget.countOutputs(filter.length);
  return filter as readonly string[];
}

type Described = Pick<ServableDescription, "signatures">;

/** The signature that a request names; throws with the text of TensorFlow Serving's REST API. */
export function findSignature(name: string, { signatures }: Described, used?: UsedNames): ChosenSignature {
  const chosen = chooseSignature(name, signatures, used);
  if (chosen !== undefined) return chosen;
  throw invalidArgument(`Serving signature name: "${name}" not found in signature def`);
}

/** The names in a predict request. */
export function usedNames({ root, outputFilter: outputs }: PredictBody): UsedNames {
  const { instances, inputs: columns } = root;
  const first = isJsonList(instances ?? null) ? (instances as readonly JsonValue[])[0] : columns;
  const isNamed = isJsonObject(first) && !isBase64Object(first);
  return { inputs: isNamed ? Object.keys(first) : [], outputs, isUnnamedNumbers: isNumbers(instances ?? columns) };
}

/** Checks for numbers, or lists of them, by the first one. */
function isNumbers(value: JsonValue = null): boolean {
  return isJsonList(value) ? isNumbers(value[0]) : value instanceof JsonNumbers;
}

/** `row` = a list of instances in, a list of predictions out; `column` = whole tensors in and out. */
export type PredictFormat = "row" | "column";

/** A request's tensors, and their form, which the answer has too. */
export interface PredictInputs {
  readonly format: PredictFormat;
  readonly inputs: Tensors;
}

/** A predict request. */
export interface PredictMessage extends PredictInputs {
  /** Resolved, unless the servable's signatures are unknown. */
  readonly signature: string;
  readonly outputFilter: readonly string[];
}

/**
 * Decodes the body of a predict request for a servable with these signatures.
 * `maxBytes` limits the memory of the result.
 */
export function decodePredict(
  body: Uint8Array,
  signatures: Described["signatures"],
  maxBytes: number,
  form: ValuesForm = {},
): PredictMessage {
  const parsed = parsePredictBody(body, new DecodeBudget(maxBytes), form);
  const { name, spec } = findSignature(parsed.signature, { signatures }, usedNames(parsed));
  return { signature: name, outputFilter: parsed.outputFilter, ...readInputs(parsed, spec) };
}

/** {@link decodePredict} for a codec thread. */
export const decodePredictJob = defineJob(import.meta.url, "decodePredictJob", decodePredict);

/** Reads the tensors; for inputs that the signature does not describe, the JSON determines names and dtypes. */
export function readInputs(body: PredictBody, known: Signature = {}): PredictInputs {
  const { inputs: specs, isTabular = false } = known;
  const { root, signature, budget } = body;
  if (specs?.length === 0) throw invalidArgument(`Failed to get input map for signature: ${signature || "DEFAULT"}`);
  const [instances, inputs] = [root.instances ?? undefined, root.inputs ?? undefined];
  if (instances !== undefined && inputs !== undefined) {
    throw invalidArgument(
      `JSON Value: ${dumpJson(root)} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist `,
    );
  }
  const knownOf = (own: Specs) => toKnownInputs(own, known, body);
  const frame = specs ? undefined : readDataFrame(root, { isTabular, features: featuresOf(known) }, budget);
  if (frame !== undefined) return { format: "row", inputs: readInstances(frame, knownOf(specs), budget) };
  if (inputs !== undefined) {
    const columnSpecs = specs && withEncodedImages(specs, ({ name }) => valueNamed(inputs, name));
    const columns = tableOf(onlyValue(inputs), body, known) ?? inputs;
    return { format: "column", inputs: readColumns(columns, knownOf(columnSpecs), budget) };
  }
  if (instances === undefined) throw invalidArgument("Missing 'inputs' or 'instances' key");
  const length = listLength(instances);
  if (length === undefined)
    throw invalidArgument(`JSON Value: ${dumpJson(root)} Expecting 'instances' to be an list/array`);
  if (length === 0)
    throw errorsFor(body).noRows(
      root,
      (knownInputs(known) ?? []).map(({ name }) => name),
    );
  const rows = isJsonList(instances) && mayMiss(body, known) ? withoutMissingTexts(instances) : instances;
  const first = isJsonList(rows) ? rows[0] : undefined;
  const rowSpecs = specs && withEncodedImages(specs, ({ name }) => valueNamed(first, name));
  const columns = tableOf(rows, body, known);
  if (columns)
    return {
      format: "row",
      inputs: readNamedColumns(columns, { ...knownOf(specs), areRows: true }, budget),
    };
  const named = body.isPlain && !isNamedInstance(first) ? onlyInput(known) : {};
  return { format: "row", inputs: readInstances(rows, { ...knownOf(rowSpecs), ...named }, budget) };
}

/**
 * The columns of rows of texts and numbers, or of rows below their names, for a model of tables; for any other one, of
 * CSV with a line of names. Undefined for others.
 */
function tableOf(
  instances: JsonValue,
  { isCsv = false, budget }: PredictBody,
  known: Signature,
): JsonObject | undefined {
  const { inputs, isTabular = false } = known;
  const isOfTable = isTabular && inputs === undefined;
  if (!isJsonList(instances) || !(isOfTable || isCsv)) return undefined;
  const features = inputs?.map(({ name }) => name) ?? featuresOf(known);
  return columnsOfRows({ instances, features, isCsv, needsNames: !isOfTable }, budget);
}

/** The value of the only member of an object, or the value itself if it has no members. */
function onlyValue(value: JsonValue): JsonValue {
  if (!isJsonObject(value) || isBase64Object(value)) return value;
  const [only = null, ...others]: readonly JsonValue[] = Object.values(value);
  return others.length === 0 ? only : null;
}

/** Null is a missing value of a table, and in CSV NaN, or an empty text. */
function rulesFor({ isCsv }: ValuesForm, { isTabular, inputs }: Signature): JsonTensorRules {
  if (isTabular) return rulesWithMissing(MISSING_TEXT);
  return isCsv ? rulesWithMissing(new Uint8Array(0)) : rulesOf(inputs);
}

/** True if texts of CSV such as `nan` are missing values: no input takes texts, or pandas would read them so. */
function mayMiss({ isCsv }: ValuesForm, { isTabular, inputs = [] }: Signature): boolean {
  return (
    isCsv === true && (isTabular === true || (inputs.length > 0 && inputs.every(({ dtype }) => FLOATS.has(dtype))))
  );
}

const FLOATS: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32", "float64"]);

function featuresOf({ suggestedInputs: [only, ...others] = [] }: Signature): readonly string[] | undefined {
  if (only === undefined) return undefined;
  // Other models have an input for each.
  if (others.length === 0 && only.shape?.length !== 1) return only.features;
  return [only, ...others].map(({ name }) => name);
}

/** The value of one name, or the value itself if it has no names. */
function valueNamed(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && !isBase64Object(value) ? value[name] : value;
}

/** The name of the only input that the model takes, behind hooks too; nothing if it is not known. */
function onlyInput({ inputs, modelInputs }: Signature): Pick<KnownInputs, "unnamed"> {
  const names = (inputs ?? modelInputs ?? []).map(({ name }) => name);
  const [unnamed, ...others] = names;
  if (unnamed === undefined) return {};
  if (others.length === 0) return { unnamed };
  throw namelessRows(names);
}

type Specs = readonly TensorSpec[] | undefined;

function errorsFor({ isPlain = false, isCsv = false }: ValuesForm): RowErrors {
  return isPlain || isCsv ? plainErrors : tensorflowErrors;
}

function toKnownInputs(specs: Specs, known: Signature, form: ValuesForm): KnownInputs {
  const { inputNames, suggestedInputs = [], isTabular = false } = known;
  const unnamed = inputNames?.length === 1 ? inputNames[0] : undefined;
  const isWide = isTabular && suggestedInputs.some(({ dtype }) => dtype === "float64");
  const likely = (name: string) => likelyDType(known, name);
  const errors = errorsFor(form);
  const suggested = (name: string) => suggestedInputs.find((spec) => spec.name === name);
  const facts = { specs, unnamed, rules: rulesFor(form, known), likely, errors };
  return { ...facts, ...(errors === plainErrors && { suggested }), ...(isWide && { floats: "float64" }) };
}

function readColumns(value: JsonValue, known: KnownInputs, budget: DecodeBudget): Tensors {
  if (isJsonObject(value) && !isBase64Object(value)) return readNamedColumns(value, known, budget);
  const { specs, unnamed = UNNAMED_INPUT, rules = rulesOf(specs) } = known;
  if (specs !== undefined && specs.length > 1) {
    throw invalidArgument(
      "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map",
    );
  }
  const { name, dtype } = specs?.[0] ?? { name: unnamed, dtype: dtypeOfValues([value], unnamed, known) };
  return createTensors([[name, toJsonTensor(value, dtype, rulesNaming(name, rules))]]);
}

/**
 * The inputs with the dtype that came: an input may take encoded images too. `first`
 * is the first value of the request for an input.
 */
function withEncodedImages<Spec extends TensorSpec>(
  specs: readonly Spec[],
  first: (spec: Spec, index: number) => JsonValue | undefined,
): readonly Spec[] {
  if (!specs.some(takesImages)) return specs;
  return specs.map((spec, index) => {
    const isEncoded = takesImages(spec) && isEncodedValue(first(spec, index));
    return isEncoded ? { ...spec, dtype: "bytes" as const } : spec;
  });
}

/** `{"b64": …}` or a text, or a list that begins with one. */
function isEncodedValue(value: JsonValue | undefined): boolean {
  if (value === undefined) return false;
  if (isJsonList(value)) return isEncodedValue(value[0]);
  return typeof value === "string" || (isJsonObject(value) && isBase64Object(value));
}
