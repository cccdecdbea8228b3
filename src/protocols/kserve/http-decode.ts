import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES, MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { toInputs } from "./http-inputs.ts";
import { type JsonInput, parseKserveBody } from "./http-request.ts";
import { type AnswerForm, readForm } from "./http-response.ts";
import type { KserveRequest, SharedInput } from "./kserve-request.ts";
import { readPlace } from "./read-place.ts";

/** Facts needed to decode a body. */
export interface DecodeInferOptions {
  readonly model: string;
  readonly version: string;
  /** Length of the JSON at the start of the body, in bytes. */
  readonly headerLength: number;
  /** Limits the memory of the decoded values. */
  readonly maxBytes: number;
  /** The text that null is, for a model to which values may be missing. */
  readonly nullText?: Uint8Array | undefined;
}

const NOTHING = new Uint8Array(0);

/**
 * Decodes the body of an infer request: JSON, with or without a binary part. `isInline`: true in the main thread, which
 * leaves long work to codec threads, by undefined.
 */
export function decodeInfer(
  body: Uint8Array,
  options: DecodeInferOptions,
  isInline: true,
): KserveRequest<AnswerForm> | undefined;
export function decodeInfer(body: Uint8Array, options: DecodeInferOptions): KserveRequest<AnswerForm>;
export function decodeInfer(
  body: Uint8Array,
  { model, version, headerLength, maxBytes, nullText }: DecodeInferOptions,
  isInline = false,
): KserveRequest<AnswerForm> | undefined {
  const budget = new DecodeBudget(maxBytes);
  const { id, parameters, inputs: stated, outputs } = parseKserveBody(body.subarray(0, headerLength), budget);
  const { sent, shared } = splitInputs(stated);
  const binary = body.subarray(headerLength);
  if (isInline && isHeavy(sent, binary)) return undefined;
  // Without a binary part, no input may view the JSON's buffer, not even an empty input.
  const inputs = toInputs(sent, binary.length > 0 ? binary : NOTHING, { model, id, budget, nullText });
  return { model, version, id, parameters, inputs, shared, outputs, form: readForm(parameters, outputs) };
}

/** {@link decodeInfer} for a codec thread, without a limit on time. */
export const decodeInferJob = defineJob(
  import.meta.url,
  "decodeInferJob",
  (body: Uint8Array, options: DecodeInferOptions) => decodeInfer(body, options),
);

/** Copying this many bytes takes a few milliseconds. */
const LARGE_COPY_BYTES = 16 * 1024 * 1024;

/** Checks if a binary part has many elements to find, or numbers that cannot be viewed in place. */
function isHeavy(inputs: readonly JsonInput[], binary: Uint8Array): boolean {
  if (binary.length <= LARGE_MESSAGE_BYTES) return false;
  const isBinary = ({ data }: JsonInput) => data === undefined;
  if (inputs.some((input) => isBinary(input) && input.datatype === "BYTES" && !hasFewElements(input))) return true;
  return binary.length > LARGE_COPY_BYTES && inputs.filter(isBinary).length > 1;
}

function hasFewElements({ shape }: JsonInput): boolean {
  return shape.reduce((product, size) => product * size, 1) <= MANY_ELEMENTS;
}

/** The inputs of a request by where their values are. */
interface SplitInputs {
  /** In the message. */
  readonly sent: readonly JsonInput[];
  /** In shared memory; undefined = none is. */
  readonly shared: readonly SharedInput[] | undefined;
}

/** Divides inputs by where their values are; throws `invalid_argument` for one that states several places. */
function splitInputs(inputs: readonly JsonInput[]): SplitInputs {
  const sent: JsonInput[] = [];
  const shared: SharedInput[] = [];
  for (const input of inputs) {
    const place = readPlace(input.parameters, input.name);
    if (place === undefined) {
      sent.push(input);
      continue;
    }
    assertNotSent(input);
    const { name, datatype, shape } = input;
    shared.push({ head: { name, datatype, shape }, place });
  }
  return { sent, shared: shared.length > 0 ? shared : undefined };
}

function assertNotSent({ name, data, parameters }: JsonInput): void {
  const isBinary = parameters.has("binary_data_size");
  if (data === undefined && !isBinary) return;
  const set = [...(data === undefined ? [] : ["'data'"]), ...(isBinary ? ["'binary_data_size'"] : [])].join(" ");
  throw invalidArgument(
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', " +
      `'shared_memory_region' in 'parameters'. But set ${set} 'shared_memory_region' for input '${name}'`,
  );
}
