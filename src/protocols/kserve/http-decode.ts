import { hintedError } from "../../error-info.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES, MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { decodeBase64 } from "../../tensor/codecs/json/decode-base64.ts";
import {
  type JsonTensorRules,
  type Mismatch,
  mismatchHint,
  toJsonTensor,
} from "../../tensor/codecs/json/json-tensor.ts";
import { dumpJson, type JsonObject } from "../../tensor/codecs/json/json-value.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import { createTensor, elementCount, MAX_RANK, type Tensor } from "../../tensor/tensor.ts";
import { DATATYPE_NAMES, datatypeNamed } from "./datatype.ts";
import { type JsonInput, parseKserveBody } from "./http-request.ts";
import { type AnswerForm, readForm } from "./http-response.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { readUnsigned } from "./parameters.ts";
import { dtypeOfInput, elementsOf, fromRaw, type InputContext, LENGTH_BYTES } from "./raw-tensor.ts";
import { splitInputs } from "./shared-memory-places.ts";

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
/** So does looking at this many booleans, and copying them if one is neither 0 nor 1. */
const MANY_BOOLEANS = 1024 * 1024;

/** Checks if a binary part has many elements to find or to look at, or numbers that cannot be viewed in place. */
function isHeavy(inputs: readonly JsonInput[], binary: Uint8Array): boolean {
  if (binary.length <= LARGE_MESSAGE_BYTES) return false;
  const isBinary = ({ data }: JsonInput) => data === undefined;
  if (binary.length > MANY_BOOLEANS && inputs.some((input) => isBinary(input) && input.datatype === "BOOL"))
    return true;
  if (inputs.some((input) => isBinary(input) && input.datatype === "BYTES" && !hasFewElements(input))) return true;
  return binary.length > LARGE_COPY_BYTES && inputs.filter(isBinary).length > 1;
}

function hasFewElements({ shape }: JsonInput): boolean {
  return shape.reduce((product, size) => product * size, 1) <= MANY_ELEMENTS;
}

const SIZE = "binary_data_size";

/**
 * The tensors of a request whose JSON is followed by `binary`: inputs with `data` come from the JSON, the others take
 * their bytes from `binary` in order. Throws `invalid_argument` with the texts of Triton, whose clients assert on them.
 */
export function toInputs(
  inputs: readonly JsonInput[],
  binary: Uint8Array,
  context: InputContext,
): (readonly [string, Tensor])[] {
  const rest = new BinaryPart(binary, context);
  const isLast = inputs.findLast(({ data }) => data === undefined);
  const tensors = inputs.map((input) => {
    try {
      const tensor = input.data === undefined ? rest.take(input, input === isLast) : fromJson(input, context);
      return [input.name, tensor] as const;
    } catch (reason) {
      throw datatypeNamed(input.datatype) === undefined ? wrongDatatype(input, reason) : reason;
    }
  });
  rest.end();
  return tensors;
}

/** The bytes after the JSON, from which the inputs take theirs in order. */
class BinaryPart {
  readonly #bytes: Uint8Array;
  readonly #context: InputContext;
  #position = 0;

  constructor(bytes: Uint8Array, context: InputContext) {
    this.#bytes = bytes;
    this.#context = context;
  }

  take(input: JsonInput, isLast: boolean): Tensor {
    const size = input.parameters.get(SIZE);
    const sizes = typeof size === "string" ? parseSizes(size) : undefined;
    // OpenVINO Model Server 2022 took images in the form of several sizes, each image without its own length.
    if (sizes !== undefined && sizes.length > 1) return this.#takeImages(input, sizes);
    const bytes = this.#takeBytes(sizes?.[0] ?? this.#sizeOf(input, isLast), input);
    return this.#isBare(input, bytes) ? this.#toElements(input, [bytes]) : fromRaw(input, bytes, this.#context);
  }

  /**
   * Checks that one element has no length before it, as an image may, and anything whose size was given as text: its
   * own first bytes would be an absurd length.
   */
  #isBare({ datatype, shape, parameters }: JsonInput, bytes: Uint8Array): boolean {
    const size = parameters.get(SIZE);
    if (datatype !== "BYTES" || typeof size === "number" || isPrefixed(bytes)) return false;
    const isOne = shape.length === 1 && shape[0] === 1;
    return imageFormat(bytes) !== undefined || (typeof size === "string" && isOne);
  }

  /** Refuses bytes that belong to no input. */
  end(): void {
    if (this.#position === this.#bytes.length) return;
    throw invalidArgument(`unexpected additional input data for model '${this.#context.model}'`);
  }

  #sizeOf(input: JsonInput, isLast: boolean): number {
    const stated = readUnsigned(input.parameters, SIZE);
    if (stated !== undefined) return stated;
    const dtype = dtypeOfInput(input, this.#context.model);
    if (dtype !== "bytes") return elementsOf(input, this.#context.model) * numericLayout(dtype).bytes;
    if (isLast) return this.#bytes.length - this.#position;
    throw invalidArgument(
      `Unable to parse '${SIZE}': input '${input.name}' is BYTES and not the last one, so it must state it`,
    );
  }

  #takeImages(input: JsonInput, sizes: readonly number[]): Tensor {
    if (input.datatype !== "BYTES") {
      throw invalidArgument(
        `${SIZE} has ${sizes.length} sizes for input '${input.name}', which is ${input.datatype}; expected one, as only BYTES may be images`,
      );
    }
    const images = sizes.map((size) => this.#takeBytes(size, input));
    return this.#toElements(input, images);
  }

  #toElements(input: JsonInput, elements: readonly Uint8Array[]): Tensor {
    this.#context.budget.spend(elements.length * ELEMENT_BYTES, () => `${elements.length} elements`);
    if (elementsOf(input, this.#context.model) === elements.length) return createTensor("bytes", input.shape, elements);
    throw wrongShape(
      input,
      `input '${input.name}' for model '${this.#context.model}' has shape [${input.shape}], but ${elements.length} elements came`,
    );
  }

  #takeBytes(size: number, input: JsonInput): Uint8Array {
    const start = this.#position;
    const missing = start + size - this.#bytes.length;
    if (missing > 0) {
      throw wrongShape(
        input,
        `unexpected size for input '${input.name}', expecting ${missing} additional bytes for model '${this.#context.model}'`,
      );
    }
    this.#position += size;
    return this.#bytes.subarray(start, this.#position);
  }
}

/** Checks that the first four bytes are the length of the rest. */
function isPrefixed(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes;
  return length >= LENGTH_BYTES && new DataView(buffer, byteOffset).getUint32(0, true) === length - LENGTH_BYTES;
}

/** Characters of the longest list of sizes. */
const MAX_SIZES_TEXT = 1024 * 1024;

/** Sizes written as text: OpenVINO's documentation does so even for a single one. */
function parseSizes(text: string): readonly number[] {
  const sizes = text.length <= MAX_SIZES_TEXT ? text.split(",").map((size) => size.trim()) : [];
  if (sizes.length > 0 && sizes.every((size) => /^\d{1,15}$/.test(size))) return sizes.map(Number);
  throw invalidArgument(
    `${SIZE} parameter is invalid and cannot be parsed: '${text.slice(0, 40)}'; expected an integer, or sizes of images separated by commas`,
  );
}

/** Lists may be nested like the shape, differently, or not at all: only the row-major order matters. */
function fromJson(input: JsonInput, context: InputContext): Tensor {
  const { name, shape, data, parameters } = input;
  if (parameters.has(SIZE)) {
    throw invalidArgument(
      `Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters'; input '${name}' has both`,
    );
  }
  if (data === undefined || data === null)
    throw invalidArgument(`Unable to parse 'data': input '${name}' has null; expected a list of values`);
  const dtype = dtypeOfInput(input, context.model);
  const count = elementsOf(input, context.model);
  const tensor = toJsonTensor(data, dtype, createKserveRules(name, context.nullText));
  if (elementCount(tensor.shape) === count) return reshape(tensor, shape);
  const text = `Unable to parse 'data': Shape does not match true shape of 'data' field; input '${name}' has ${elementCount(tensor.shape)} values for [${shape}]`;
  throw wrongShape(input, text);
}

/** The error with a hint, which the readers that clients share do not give. */
function wrongDatatype({ name }: JsonInput, reason: unknown): ServingError {
  const expected = DATATYPE_NAMES.join(", ");
  const { code, message } = ServingError.from(reason);
  return hintedError(code, message, { reason: "WRONG_DTYPE", field: name, expected });
}

/** The error of an input whose values are not as many as its shape has. */
function wrongShape({ name, shape }: JsonInput, text: string): ServingError {
  return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", field: name, expected: `[${shape}]` });
}

/**
 * KServe V2's rules for the `data` of one input; a BYTES element may be a string or `{"b64": …}`. Null is NaN among
 * numbers, and the text given among texts.
 */
export function createKserveRules(input: string, nullText?: Uint8Array): JsonTensorRules {
  return {
    integers: "values",
    overflow: "refused",
    nullIsNaN: true,
    text: (text) => text,
    object: (object) => decodeObject(input, object),
    refuse: (mismatch) => {
      const text = `Unable to parse 'data' of input '${input}': ${describe(mismatch)}`;
      return hintedError("invalid_argument", text, mismatchHint(input, mismatch));
    },
    ...(nullText && { nullText }),
  };
}

function decodeObject(input: string, object: JsonObject): Uint8Array {
  const decoded = typeof object.b64 === "string" ? decodeBase64(object.b64) : undefined;
  if (decoded !== undefined && Object.keys(object).length === 1) return decoded;
  throw invalidArgument(
    `Unable to parse 'data' of input '${input}': the element ${dumpJson(object)} is not a string or {"b64": BASE64}`,
  );
}

function describe(mismatch: Mismatch): string {
  const place = `element [${mismatch.path.join("][")}]`;
  switch (mismatch.kind) {
    case "type":
      if (mismatch.value === null) return `${place} is null, which is no value of ${mismatch.dtype}`;
      return `${dumpJson(mismatch.value)} is not a value of ${mismatch.dtype}`;
    case "size":
      return `${place} has ${mismatch.size} elements where its neighbours have ${mismatch.shape[mismatch.path.length]}`;
    case "list":
      return `${place} is a list where its neighbours are values`;
    case "value":
      return `${place} is one value where its neighbours are lists`;
    case "rank":
      return `it is nested more than ${MAX_RANK} levels deep`;
  }
}
