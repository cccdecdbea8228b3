import { failedPrecondition } from "../../../errors.ts";
import { FlatbufferTable } from "../../tflite-format/flatbuffer-table.ts";
import { readTflite } from "../../tflite-format/read-tflite.ts";
import { findSignatureDefs, readTfliteSignatures } from "../../tflite-format/tflite-signatures.ts";

/** A .tflite file in memory. */
export interface TfliteFile {
  readonly bytes: Buffer;
  /** Operators in addition to TFLite's own, by name. */
  readonly customOperators: readonly string[];
  /** True if the size of some tensor depends on the values of another. */
  readonly hasDataDependentSizes: boolean;
  /** True if it has loops, which need not end with every input. */
  readonly hasLoops: boolean;
  /** True if it keeps values from one run to the next. */
  readonly hasState: boolean;
  /** Names of tensors that a signature takes and gives back unchanged. */
  readonly passedOn: readonly string[];
  /** Signatures that stand in the metadata, if the file itself has none; see {@link readSignatureDefs}. */
  readonly signatureDefs: Uint8Array | undefined;
  /** For each signature, by name: the shapes of inputs and outputs as the converter meant them, -1 for an open size. */
  readonly shapes: readonly ReadonlyMap<string, readonly number[]>[];
}

// Field numbers and codes:
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const MODEL = { operatorCodes: 1, subgraphs: 2 };
const OPERATOR_CODE = { deprecatedCode: 0, customName: 1, code: 3 };
const SUBGRAPH = { tensors: 0, inputs: 1, outputs: 2 };
const TENSOR = { shape: 0, isVariable: 5, shapeSignature: 7 };
const CUSTOM = 32;
/** UNIQUE and WHERE: their results have as many elements as values say. */
const DATA_DEPENDENT = [103, 109];
const WHILE = 119;
/** CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE. */
const STATEFUL = [129, 142, 143, 144];

/** Reads a .tflite file; throws `failed_precondition` for one that is damaged or cut short. */
export function readTfliteFile(path: string): TfliteFile {
  return describeModel(readTflite(path));
}

function describeModel(bytes: Buffer): TfliteFile {
  const model = FlatbufferTable.root(viewOf(bytes));
  const codes = model.tables(MODEL.operatorCodes);
  const builtins = codes.map((code) => Math.max(code.byte(OPERATOR_CODE.deprecatedCode), code.int(OPERATOR_CODE.code)));
  const has = (operators: readonly number[]) => builtins.some((code) => operators.includes(code));
  const tensors = model.tables(MODEL.subgraphs).flatMap((subgraph) => subgraph.tables(SUBGRAPH.tensors));
  const signatures = readTfliteSignatures(model);
  return {
    bytes,
    customOperators: codes
      .filter((_, index) => builtins[index] === CUSTOM)
      .map((code) => code.text(OPERATOR_CODE.customName)),
    hasDataDependentSizes: has(DATA_DEPENDENT),
    hasLoops: has([WHILE]),
    hasState: has(STATEFUL) || tensors.some((tensor) => tensor.byte(TENSOR.isVariable) !== 0),
    passedOn: signatures.flatMap(({ inputs, outputs }) =>
      outputs.filter(({ index }) => inputs.some((input) => input.index === index)).map(({ name }) => name),
    ),
    signatureDefs: findSignatureDefs(model),
    shapes: signatures.map(
      ({ inputs, outputs }) => new Map([...inputs, ...outputs].map(({ name, tensor }) => [name, meantShape(tensor)])),
    ),
  };
}

/**
 * Converters of old write the open sizes without saying that the rank is known, and
 * LiteRT then takes the shape for a fixed one.
 */
function meantShape(tensor: FlatbufferTable): readonly number[] {
  const shape = tensor.ints(TENSOR.shape);
  const signature = tensor.ints(TENSOR.shapeSignature);
  return signature.length === shape.length ? signature : shape;
}

/**
 * A copy of a model that takes as many rows, and claims to give as many, as said
 * wherever it leaves the first dimension open.
 */
export function withRows({ bytes }: TfliteFile, rows: number, given = rows): Buffer {
  const copy = Buffer.from(bytes);
  const view = viewOf(copy);
  for (const subgraph of FlatbufferTable.root(view).tables(MODEL.subgraphs)) {
    const tensors = subgraph.tables(SUBGRAPH.tensors);
    const change = (field: number, count: number) => {
      for (const tensor of subgraph.ints(field).flatMap((index) => tensors[index] ?? [])) setRows(view, tensor, count);
    };
    change(SUBGRAPH.inputs, rows);
    change(SUBGRAPH.outputs, given);
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

/** The last operator of detectors. LiteRT reads beyond its memory for its outputs. */
const DETECTION = "TFLite_Detection_PostProcess";

/**
 * Refuses operators that LiteRT would refuse at the first run only, or without a clear reason: those that the
 * converter leaves to TensorFlow itself (`tf.lite.OpsSet.SELECT_TF_OPS`), and the last one of detectors.
 */
export function refuseOperators({ customOperators }: TfliteFile, path: string): void {
  const flex = customOperators.filter((name) => name.startsWith("Flex")).map((name) => name.slice("Flex".length));
  if (flex.length > 0) {
    const advice = "Convert it with TFLITE_BUILTINS only, or serve the SavedModel that it was made from.";
    throw failedPrecondition(
      `The model "${path}" has operators that TFLite leaves to TensorFlow: ${flex.join(", ")}. ${advice}`,
    );
  }
  if (!customOperators.includes(DETECTION)) return;
  const advice = "Convert the model without it, or serve the SavedModel that it was made from.";
  throw failedPrecondition(
    `The model "${path}" ends with ${DETECTION}, whose outputs LiteRT's JavaScript API does not give. ${advice}`,
  );
}
