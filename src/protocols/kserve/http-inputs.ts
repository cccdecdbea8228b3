import { invalidArgument } from "../../errors.ts";
import { ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { toJsonTensor } from "../../tensor/codecs/json/json-tensor.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";
import type { JsonInput } from "./http-request.ts";
import { createKserveRules } from "./json-tensor-rules.ts";
import { readUnsigned } from "./parameters.ts";
import { dtypeOfInput, elementsOf, fromRaw, type InputContext, LENGTH_BYTES } from "./raw-tensor.ts";

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
  const isLast = lastBinaryInput(inputs);
  const tensors = inputs.map((input) => {
    const tensor = input.data === undefined ? rest.take(input, input === isLast) : fromJson(input, context);
    return [input.name, tensor] as const;
  });
  rest.end();
  return tensors;
}

function lastBinaryInput(inputs: readonly JsonInput[]): JsonInput | undefined {
  return inputs.findLast(({ data }) => data === undefined);
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
  throw invalidArgument("Unable to parse 'data': Shape does not match true shape of 'data' field");
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
    // OpenVINO Model Server 2022 took images in the form of several sizes, each image without a length of its own.
    if (sizes !== undefined && sizes.length > 1) return this.#takeImages(input, sizes);
    const bytes = this.#takeBytes(sizes?.[0] ?? this.#sizeOf(input, isLast), input.name);
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
    const images = sizes.map((size) => this.#takeBytes(size, input.name));
    return this.#toElements(input, images);
  }

  #toElements(input: JsonInput, elements: readonly Uint8Array[]): Tensor {
    this.#context.budget.spend(elements.length * ELEMENT_BYTES, () => `${elements.length} elements`);
    if (elementsOf(input, this.#context.model) === elements.length) return createTensor("bytes", input.shape, elements);
    throw invalidArgument(
      `input '${input.name}' for model '${this.#context.model}' has shape [${input.shape}], but ${elements.length} elements came`,
    );
  }

  #takeBytes(size: number, name: string): Uint8Array {
    const start = this.#position;
    const missing = start + size - this.#bytes.length;
    if (missing > 0) {
      throw invalidArgument(
        `unexpected size for input '${name}', expecting ${missing} additional bytes for model '${this.#context.model}'`,
      );
    }
    this.#position += size;
    return this.#bytes.subarray(start, this.#position);
  }
}
