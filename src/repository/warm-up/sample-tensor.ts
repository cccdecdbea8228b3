import { failedPrecondition } from "../../errors.ts";
import { type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../tensor/tensor.ts";
import { withRegularFile } from "./open-regular-file.ts";
import type { SampleInput } from "./warm-up-entry.ts";

/** Maximum memory of one input, in bytes. */
const MAX_BYTES = 2 ** 30;
/** Memory of a string in addition to its content, likewise. */
const STRING_BYTES = 64;
/** Random numbers of one input, which are then repeated: making all of them would take seconds of the main thread. */
const MAX_RANDOM = 2 ** 16;
/** Bytes before each string of a file: its length, little-endian. */
const LENGTH_BYTES = 4;

/**
 * Creates the tensor of a sample's input; throws `failed_precondition` where its file
 * is too short, or is not a regular file.
 */
export async function sampleTensor(input: SampleInput): Promise<Tensor> {
  const { dtype, shape, values, rows } = input;
  const count = elementCount(shape);
  const bytes = count * (dtype === "bytes" ? STRING_BYTES : numericLayout(dtype).bytes);
  if (!(bytes <= MAX_BYTES && rows <= MAX_BYTES / STRING_BYTES))
    throw fault(input, `takes ${bytes} bytes, more than ${MAX_BYTES}`);
  if (typeof values === "object") return fromFile(input, count, await readValues(values.path, input));
  if (dtype === "bytes") return createTensor(dtype, shape, new Array(count).fill(new Uint8Array(0)));
  const data = viewBytes<NumericDType>(dtype, new Uint8Array(bytes));
  if (values === "random") fillRandom(data, dtype);
  return createTensor(dtype, shape, data);
}

/** Numbers from 0 to 1: integers are often indices into a table, which always has these two. */
function fillRandom(data: ReturnType<typeof viewBytes<NumericDType>>, dtype: NumericDType): void {
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  const isFloat = data instanceof Float32Array || data instanceof Float64Array;
  // The number one in the types that are stored as bits.
  const one = dtype === "float16" ? 0x3c00 : dtype === "bfloat16" ? 0x3f80 : 1;
  const fresh = Math.min(data.length, MAX_RANDOM);
  for (let at = 0; at < fresh; at++) {
    const value = isFloat ? Math.random() : Math.round(Math.random()) * one;
    data[at] = isBig ? BigInt(value) : value;
  }
  for (let at = fresh; at < data.length; at *= 2) data.copyWithin(at, 0, at);
}

function readValues(path: string, input: SampleInput): Promise<Uint8Array> {
  return withRegularFile(path, `The file of ${titleOf(input)}`, async ({ file, size }) => {
    if (size > MAX_BYTES) throw fault(input, `has a file of ${size} bytes, more than ${MAX_BYTES}`);
    return new Uint8Array(await file.readFile());
  });
}

/** The file has the values of one row, which are repeated for each row of the batch. */
function fromFile(input: SampleInput, count: number, content: Uint8Array): Tensor {
  const { dtype, shape, rows } = input;
  if (dtype === "bytes") {
    const texts = textsOf(input, count / rows, content);
    return createTensor(dtype, shape, Array.from({ length: rows }, () => texts).flat());
  }
  const rowBytes = (count / rows) * numericLayout(dtype).bytes;
  if (content.length < rowBytes) throw fault(input, `needs ${rowBytes} bytes, but its file has ${content.length}`);
  const bytes = new Uint8Array(rowBytes * rows);
  for (let row = 0; row < rows; row++) bytes.set(content.subarray(0, rowBytes), row * rowBytes);
  return createTensor(dtype, shape, viewBytes<NumericDType>(dtype, bytes));
}

function textsOf(input: SampleInput, count: number, content: Uint8Array): Uint8Array[] {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const texts: Uint8Array[] = [];
  let position = 0;
  while (texts.length < count) {
    const start = position + LENGTH_BYTES;
    position = start > content.length ? Number.POSITIVE_INFINITY : start + view.getUint32(position, true);
    if (position > content.length)
      throw fault(input, `needs ${count} texts, each after 4 bytes of its length, but its file has ${texts.length}`);
    texts.push(content.subarray(start, position));
  }
  return texts;
}

function fault(input: SampleInput, problem: string): Error {
  return failedPrecondition(`${titleOf(input)} ${problem}.`);
}

function titleOf({ name }: SampleInput): string {
  return `the warm-up input "${name}"`;
}
