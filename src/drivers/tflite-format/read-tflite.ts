import { readFileSync } from "node:fs";
import { failedPrecondition } from "../../errors.ts";
import { FlatbufferTable } from "./flatbuffer-table.ts";
import { ELEMENT_BYTES, LAST_OPERATOR, LAST_TYPE, TFLITE_MODEL, verifyFlatbuffer } from "./tflite-schema.ts";

/**
 * Reads a .tflite file into memory that nothing else uses; throws `failed_precondition` for one that is damaged or cut
 * short, before any library sees it.
 */
export function readTflite(path: string): Buffer {
  const bytes = readFileSync(path);
  try {
    checkTflite(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return bytes;
  } catch (cause) {
    if (cause instanceof CompiledFor)
      throw failedPrecondition(
        `The model "${path}" was compiled for ${cause.message}; serve the .tflite file that it was compiled from.`,
        cause,
      );
    if (!(cause instanceof RangeError)) throw cause;
    const message = `The model file "${path}" is damaged or cut short: ${cause.message}. Copy or convert it again.`;
    throw failedPrecondition(message, cause);
  }
}

const MODEL = { codes: 1, subgraphs: 2, buffers: 4, signatures: 7 };
const CODE = { deprecated: 0, customName: 1, code: 3 };
const SUBGRAPH = { tensors: 0, inputs: 1, outputs: 2, operators: 3 };
const TENSOR = { shape: 0, type: 1, buffer: 2, quantization: 4, isVariable: 5, sparsity: 6 };
const QUANTIZATION = { scale: 2, zeroPoint: 3, dimension: 6 };
const OPERATOR = { code: 0, inputs: 1, outputs: 2 };
const BUFFER = { data: 0, offset: 1 };
const SIGNATURE = { inputs: 0, outputs: 1, subgraph: 4 };
const NAMED_TENSOR = { tensor: 1 };
/** An input that an operator goes without. */
const OPTIONAL = -1;

/** Operators that stand for code of an accelerator, and the accelerator. */
const ACCELERATORS: Readonly<Record<string, string>> = {
  "edgetpu-custom-op": "a Coral Edge TPU",
  "ethos-u": "an Arm Ethos-U",
  DISPATCH_OP: "an accelerator",
};

/** Thrown for a file whose operators are code of an accelerator. */
export class CompiledFor extends Error {
  override readonly name = "CompiledFor";
}

/**
 * Checks a .tflite file's structure, since libraries trust it and leave their memory if it is damaged: that all it
 * refers to is there, and constants have the bytes that their shapes say. Throws RangeError with the first thing that
 * is wrong, and {@link CompiledFor}.
 */
export function checkTflite(bytes: DataView): void {
  verifyFlatbuffer(bytes, TFLITE_MODEL);
  const model = FlatbufferTable.root(bytes);
  const codes = model.tables(MODEL.codes);
  for (const code of codes) {
    const number = Math.max(code.byte(CODE.deprecated), code.int(CODE.code));
    if (number < 0 || number > LAST_OPERATOR) throw new RangeError(`no operator has the number ${number}`);
    const accelerator = ACCELERATORS[code.text(CODE.customName)];
    if (accelerator !== undefined) throw new CompiledFor(accelerator);
  }
  const subgraphs = model.tables(MODEL.subgraphs);
  if (subgraphs.length === 0) throw new RangeError("it has no graph");
  const buffers = model.tables(MODEL.buffers);
  for (const subgraph of subgraphs) checkGraph(subgraph, { buffers, codes: codes.length });
  checkSignatures(model, subgraphs);
}

function checkSignatures(model: FlatbufferTable, subgraphs: readonly FlatbufferTable[]): void {
  for (const signature of model.tables(MODEL.signatures)) {
    const count = subgraphs[signature.int(SIGNATURE.subgraph)]?.count(SUBGRAPH.tensors) ?? 0;
    const ends = [...signature.tables(SIGNATURE.inputs), ...signature.tables(SIGNATURE.outputs)];
    for (const end of ends) assertIndex(end.int(NAMED_TENSOR.tensor), count, "a signature's tensor");
  }
}

/** Parts that graphs share. */
interface Shared {
  readonly buffers: readonly FlatbufferTable[];
  readonly codes: number;
}

function checkGraph(graph: FlatbufferTable, { buffers, codes }: Shared): void {
  const tensors = graph.tables(SUBGRAPH.tensors);
  for (const tensor of tensors) checkTensor(tensor, buffers);
  const inputs = graph.ints(SUBGRAPH.inputs);
  const operators = graph.tables(SUBGRAPH.operators);
  const assertTensors = (indices: readonly number[]) => {
    for (const index of indices) assertIndex(index, tensors.length, "a tensor");
  };
  assertTensors(inputs);
  assertTensors(graph.ints(SUBGRAPH.outputs));
  for (const operator of operators) {
    assertIndex(operator.int(OPERATOR.code), codes, "an operator");
    assertTensors(operator.ints(OPERATOR.inputs).filter((index) => index !== OPTIONAL));
    assertTensors(operator.ints(OPERATOR.outputs));
  }
  const isGiven = (tensor: FlatbufferTable) => isConstant(tensor, buffers) || tensor.byte(TENSOR.isVariable) !== 0;
  const indices = (fits: (tensor: FlatbufferTable) => boolean) =>
    tensors.flatMap((tensor, index) => (fits(tensor) ? [index] : []));
  checkOrder(graph, [...inputs, ...indices(isGiven)], indices(isEmpty));
}

/**
 * Nothing is computed twice, and nothing is taken that was not given or computed before. A tensor without elements
 * needs neither, and may be computed: converters write a split's empty part so.
 */
function checkOrder(graph: FlatbufferTable, given: readonly number[], empty: readonly number[]): void {
  const written = new Set(given);
  const known = new Set([...given, ...empty]);
  const take = (index: number) => {
    if (!known.has(index) && index !== OPTIONAL)
      throw new RangeError(`nothing computes the tensor ${index}, which is taken`);
  };
  for (const operator of graph.tables(SUBGRAPH.operators)) {
    operator.ints(OPERATOR.inputs).forEach(take);
    for (const index of operator.ints(OPERATOR.outputs)) {
      if (written.has(index)) throw new RangeError(`the tensor ${index} is computed twice`);
      written.add(index);
      known.add(index);
    }
  }
  graph.ints(SUBGRAPH.outputs).forEach(take);
}

/** In the file, or behind its end if it is larger than 2 GB. */
function isConstant(tensor: FlatbufferTable, buffers: readonly FlatbufferTable[]): boolean {
  const buffer = buffers[tensor.int(TENSOR.buffer)]!;
  return buffer.count(BUFFER.data) > 0 || buffer.has(BUFFER.offset);
}

function isEmpty(tensor: FlatbufferTable): boolean {
  return tensor.ints(TENSOR.shape).includes(0);
}

function checkTensor(tensor: FlatbufferTable, buffers: readonly FlatbufferTable[]): void {
  const type = tensor.byte(TENSOR.type);
  if (type < 0 || type > LAST_TYPE) throw new RangeError(`no type has the number ${type}`);
  assertIndex(tensor.int(TENSOR.buffer), buffers.length, "a tensor's buffer");
  const shape = tensor.ints(TENSOR.shape);
  if (shape.some((size) => size < -1)) throw new RangeError(`a tensor has the shape [${shape}]`);
  checkConstant(tensor, buffers[tensor.int(TENSOR.buffer)]!, shape);
  const quantization = tensor.table(TENSOR.quantization);
  if (quantization !== undefined) checkQuantization(quantization, shape);
}

/** A buffer without bytes is not a constant. */
function checkConstant(tensor: FlatbufferTable, buffer: FlatbufferTable, shape: readonly number[]): void {
  const bytes = buffer.count(BUFFER.data);
  const size = ELEMENT_BYTES[tensor.byte(TENSOR.type)];
  if (bytes === 0 || size === undefined || tensor.table(TENSOR.sparsity) !== undefined) return;
  const expected = shape.reduce((count, each) => count * each, size);
  if (bytes !== expected)
    throw new RangeError(`a constant of shape [${shape}] has ${bytes} bytes instead of ${expected}`);
}

/** One scale for all elements, or one for each index of a dimension. */
function checkQuantization(quantization: FlatbufferTable, shape: readonly number[]): void {
  const [scales, zeroPoints] = [quantization.count(QUANTIZATION.scale), quantization.count(QUANTIZATION.zeroPoint)];
  const dimension = quantization.int(QUANTIZATION.dimension);
  const size = shape[dimension];
  if (scales > 1 && size === undefined)
    throw new RangeError(`a tensor of shape [${shape}] has a scale for each index of dimension ${dimension}`);
  if ((scales > 1 && scales !== size) || (zeroPoints > 1 && zeroPoints !== scales))
    throw new RangeError(`a tensor of shape [${shape}] has ${scales} scales and ${zeroPoints} zero points`);
}

function assertIndex(index: number, count: number, what: string): void {
  if (index < 0 || index >= count) throw new RangeError(`${what} has the number ${index} of ${count}`);
}
