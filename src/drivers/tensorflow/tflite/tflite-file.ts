import { readFileSync } from "node:fs";
import { ServingError } from "../../../errors.ts";
import { FlatbufferTable } from "./flatbuffer-table.ts";

/** A .tflite file in memory. */
export interface TfliteFile {
  readonly bytes: Buffer;
  /** Operators that are none of TFLite's own, by name. */
  readonly customOperators: readonly string[];
  /** Whether the size of some tensor depends on the values of another. */
  readonly hasDataDependentSizes: boolean;
}

// Field numbers and codes: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const MODEL = { operatorCodes: 1, subgraphs: 2 };
const OPERATOR_CODE = { deprecatedCode: 0, customName: 1, code: 3 };
const SUBGRAPH = { tensors: 0, inputs: 1, outputs: 2 };
const TENSOR = { shape: 0, shapeSignature: 7 };
const CUSTOM = 32;
/** UNIQUE and WHERE: their results have as many elements as values say. */
const DATA_DEPENDENT = [103, 109];

/** Reads a .tflite file; throws `failed_precondition` for one that is damaged or cut short. */
export function readTfliteFile(path: string): TfliteFile {
  const bytes = readFileSync(path);
  try {
    const codes = FlatbufferTable.root(viewOf(bytes)).tables(MODEL.operatorCodes);
    const builtins = codes.map((code) =>
      Math.max(code.byte(OPERATOR_CODE.deprecatedCode), code.int(OPERATOR_CODE.code)),
    );
    return {
      bytes,
      customOperators: codes
        .filter((_, index) => builtins[index] === CUSTOM)
        .map((code) => code.text(OPERATOR_CODE.customName)),
      hasDataDependentSizes: builtins.some((code) => DATA_DEPENDENT.includes(code)),
    };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ServingError("failed_precondition", `The model file "${path}" is damaged or cut short.`, { cause });
  }
}

/** A copy of a model that takes and gives as many rows as said wherever it leaves the first dimension open. */
export function withRows({ bytes }: TfliteFile, rows: number): Buffer {
  const copy = Buffer.from(bytes);
  const view = viewOf(copy);
  for (const subgraph of FlatbufferTable.root(view).tables(MODEL.subgraphs)) {
    const tensors = subgraph.tables(SUBGRAPH.tensors);
    const ends = [...subgraph.ints(SUBGRAPH.inputs), ...subgraph.ints(SUBGRAPH.outputs)];
    for (const tensor of ends.flatMap((index) => tensors[index] ?? [])) setRows(view, tensor, rows);
  }
  return copy;
}

function setRows(view: DataView, tensor: FlatbufferTable, rows: number): void {
  const [first] = tensor.places(TENSOR.shapeSignature);
  if (first === undefined || view.getInt32(first, true) !== -1) return;
  for (const field of [TENSOR.shapeSignature, TENSOR.shape]) {
    const [place] = tensor.places(field);
    if (place !== undefined) view.setInt32(place, rows, true);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
