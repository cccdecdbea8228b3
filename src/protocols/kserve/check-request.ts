import { type ErrorHint, hintedError, missingInput, unknownName } from "../../error-info.ts";
import type { ServingError } from "../../errors.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { RecordedRequest } from "../../serving/recorded-request.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { fitsShape, isConvertible, type TensorSpec, takesImages, toSize } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { datatypeOf } from "./datatype.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { readScheduling, type Scheduling } from "./parameters.ts";
import { requestError } from "./request-error.ts";
import { givesOutputs, takesInputs } from "./takes-inputs.ts";

/** A request that fits its model. */
interface CheckedKserveRequest extends RecordedRequest {
  readonly scheduling: Scheduling;
}

/**
 * Checks a request against its model: names, datatypes and shapes of inputs, and the names of outputs, unless those
 * that the model does not have are ignored. Throws `invalid_argument` with the texts of Triton, whose clients assert on
 * them. What a signature does not tell is not checked.
 */
export function toCheckedRequest(
  request: KserveRequest,
  description: ServableDescription,
  settings?: ProtocolSettings,
): CheckedKserveRequest {
  const scheduling = readScheduling(request.parameters);
  const { model } = description;
  const place = { model, id: request.id };
  const inputs = toRecord(request, model);
  const named = request.outputs.map(({ name }) => name);
  const signature = requireSignature(scheduling.signature, description, {
    inputs: Object.keys(inputs),
    outputs: named,
  });
  const { spec } = signature;
  const wanted = settings?.ignoreUnknownOutputs === true ? knownOutputs(named, spec?.outputs) : named;
  if (spec?.inputs !== undefined) checkCount(inputs, spec.inputs, place);
  const { maxRequestRows: rows } = description.configured ?? {};
  if (rows) checkRows(inputs, rows, place);
  if (spec?.inputs !== undefined) checkInputs(inputs, spec.inputs, place);
  if (spec !== undefined) checkOutputs(wanted, spec.outputs, place);
  return { signature, inputs, outputs: wanted.length > 0 ? wanted : undefined, scheduling };
}

function knownOutputs(names: readonly string[], specs: readonly TensorSpec[] | undefined): readonly string[] {
  return specs === undefined ? names : names.filter((name) => specs.some((spec) => spec.name === name));
}

function toRecord({ inputs, id }: KserveRequest, model: string): Tensors {
  const record = createTensors();
  for (const [name, tensor] of inputs) {
    if (record[name] !== undefined)
      throw requestError(id, `input '${name}' already exists in request for model '${model}'`);
    record[name] = tensor;
  }
  return record;
}

/** The model as the server names it, and the client's id, which is empty if there is none: for messages. */
type Place = Pick<KserveRequest, "model" | "id">;

function checkCount(inputs: Tensors, specs: readonly TensorSpec[], place: Place): void {
  const sent = Object.keys(inputs);
  const missing = specs.filter(({ name, default: value }) => value === undefined && !sent.includes(name));
  if (sent.length > specs.length || (missing.length > 0 && sent.length < specs.length)) {
    throw wrongCount({ sent, specs, missing }, place);
  }
}

/** All inputs of a model with a maximum of rows have the batch as their first dimension. */
function checkRows(inputs: Tensors, maxRows: number, { id, model }: Place): void {
  let rows: number | undefined;
  for (const [name, { shape }] of Object.entries(inputs)) {
    const [size] = shape;
    const wrong = (text: string, expected: string) =>
      hintedRequestError(id, text, { reason: "WRONG_SHAPE", field: name, expected });
    if (size === undefined)
      throw wrong(`input '${name}' has no shape but model requires batch dimension for '${model}'`, "[-1, …]");
    rows ??= size;
    if (size !== rows)
      throw wrong(`input '${name}' batch size does not match other inputs for '${model}'`, `${rows} rows`);
    if (rows > maxRows)
      throw wrong(`inference request batch-size must be <= ${maxRows} for '${model}'`, `${maxRows} rows at most`);
  }
}

function checkInputs(inputs: Tensors, specs: readonly TensorSpec[], place: Place): void {
  for (const [name, tensor] of Object.entries(inputs)) {
    const spec = specs.find((one) => one.name === name);
    if (spec === undefined) {
      const text = `unexpected inference input '${name}' for model '${place.model}'. ${takesInputs(specs)}`;
      throw hintedError("invalid_argument", text, unknownName("UNKNOWN_INPUT", name, namesOf(specs)));
    }
    const isImage = tensor.dtype === "bytes" && takesImages(spec);
    if (!isImage) checkInput(tensor, spec, place);
  }
}

interface WrongCount {
  readonly sent: readonly string[];
  readonly specs: readonly TensorSpec[];
  readonly missing: readonly TensorSpec[];
}

function wrongCount({ sent, specs, missing }: WrongCount, { id, model }: Place): Error {
  const lacking =
    missing.length === 0 ? "" : `, but missing required input(s) ${list(missing.map(({ name }) => name))}`;
  return hintedRequestError(
    id,
    `expected ${countText(specs)} but got ${sent.length} inputs for model '${model}'. Got input(s) ${list(sent)}${lacking}. ` +
      `Please provide all required input(s). ${takesInputs(specs)}`,
    countHint({ sent, specs, missing }),
  );
}

/** A misspelt name is both one too many and one that is missing. */
function countHint({ sent, specs, missing }: WrongCount): ErrorHint {
  const known = namesOf(specs);
  const unknown = sent.find((name) => !known.includes(name));
  if (unknown !== undefined) return unknownName("UNKNOWN_INPUT", unknown, known);
  return missingInput(missing[0]?.name, known);
}

function namesOf(specs: readonly TensorSpec[]): readonly string[] {
  return specs.map(({ name }) => name);
}

function countText(specs: readonly TensorSpec[]): string {
  const required = specs.filter(({ default: value }) => value === undefined).length;
  if (required === specs.length) return `${required} inputs`;
  return `number of inputs between ${required} and ${specs.length}`;
}

function checkInput({ dtype, shape }: Tensor, spec: TensorSpec, { id, model }: Place): void {
  const { name } = spec;
  const isConverted = spec.convertsNumbers === true && isConvertible(dtype, spec.dtype);
  if (dtype !== spec.dtype && !isConverted) {
    const [came, expected] = [datatypeOf(dtype)?.name, datatypeOf(spec.dtype)?.name ?? spec.dtype];
    throw hintedRequestError(
      id,
      `inference input '${name}' data-type is '${came}', but model '${model}' expects '${expected}'`,
      { reason: "WRONG_DTYPE", field: name, expected },
    );
  }
  if (spec.shape === undefined || fitsShape(shape, spec.shape)) return;
  const expected = `[${spec.shape.map(toSize)}]`;
  throw hintedRequestError(
    id,
    `unexpected shape for input '${name}' for model '${model}'. Expected ${expected}, got [${shape}].`,
    { reason: "WRONG_SHAPE", field: name, expected },
  );
}

function checkOutputs(
  outputs: readonly string[],
  specs: readonly TensorSpec[] | undefined,
  { model, id }: Place,
): void {
  const seen = new Set<string>();
  for (const name of outputs) {
    if (specs !== undefined && !specs.some((spec) => spec.name === name)) {
      const text = `unexpected inference output '${name}' for model '${model}'. ${givesOutputs(specs)}`;
      throw hintedError("invalid_argument", text, unknownName("UNKNOWN_OUTPUT", name, namesOf(specs)));
    }
    if (seen.has(name)) throw requestError(id, `output '${name}' already exists in request`);
    seen.add(name);
  }
}

function hintedRequestError(id: string, message: string, hint: ErrorHint): ServingError {
  return hintedError("invalid_argument", requestError(id, message).message, hint);
}

function list(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(",")}]`;
}
