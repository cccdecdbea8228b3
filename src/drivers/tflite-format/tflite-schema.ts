import type { FieldKind, TableShape } from "./flatbuffer-verifier.ts";

// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs

const [BYTE, SHORT, INT, LONG] = [1, 2, 4, 8];
const table = (fields: Readonly<Record<number, FieldKind>>): TableShape => ({ fields });
const list = (element: number | TableShape): FieldKind => ({ list: element });

/** Of most operators' options no field leads elsewhere. */
const OPTIONS = table({});
/** Those that do, by their numbers: RESHAPE's new shape, SQUEEZE's dimensions, BUCKETIZE's boundaries. */
const OPTIONS_WITH_LISTS = { 17: table({ 0: list(INT) }), 30: table({ 0: list(INT) }), 115: table({ 0: list(INT) }) };
const SPARSE_INDICES = table({});
const DIMENSION = table({
  0: BYTE,
  1: INT,
  2: BYTE,
  3: { table: SPARSE_INDICES },
  4: BYTE,
  5: { table: SPARSE_INDICES },
});
const SPARSITY = table({ 0: list(INT), 1: list(INT), 2: list(DIMENSION) });
const QUANTIZATION = table({
  0: list(INT),
  1: list(INT),
  2: list(INT),
  3: list(LONG),
  4: BYTE,
  5: { table: OPTIONS },
  6: INT,
});
const TENSOR = table({
  0: list(INT),
  1: BYTE,
  2: INT,
  3: "text",
  4: { table: QUANTIZATION },
  5: BYTE,
  6: { table: SPARSITY },
  7: list(INT),
  8: BYTE,
  9: list(table({ 0: list(INT), 1: BYTE, 2: BYTE })),
});
const OPERATOR = table({
  0: INT,
  1: list(INT),
  2: list(INT),
  3: BYTE,
  4: { variants: OPTIONS_WITH_LISTS, by: 3 },
  5: list(BYTE),
  6: BYTE,
  7: list(BYTE),
  8: list(INT),
  9: LONG,
  10: LONG,
  11: BYTE,
  12: { table: OPTIONS },
});
const SUBGRAPH = table({ 0: list(TENSOR), 1: list(INT), 2: list(INT), 3: list(OPERATOR), 4: "text", 5: INT });
const OPERATOR_CODE = table({ 0: BYTE, 1: "text", 2: INT, 3: INT });
const BUFFER = table({ 0: list(BYTE), 1: LONG, 2: LONG });
const METADATA = table({ 0: "text", 1: INT });
const NAMED_TENSOR = table({ 0: "text", 1: INT });
const SIGNATURE = table({ 0: list(NAMED_TENSOR), 1: list(NAMED_TENSOR), 2: "text", 4: INT });

/** A .tflite file. */
export const TFLITE_MODEL: TableShape = table({
  0: INT,
  1: list(OPERATOR_CODE),
  2: list(SUBGRAPH),
  3: "text",
  4: list(BUFFER),
  5: list(INT),
  6: list(METADATA),
  7: list(SIGNATURE),
});

/** Bytes of an element by the number of its type; absent for types of no fixed size, or of less than a byte. */
export const ELEMENT_BYTES: Readonly<Record<number, number>> = {
  0: INT,
  1: SHORT,
  2: INT,
  3: BYTE,
  4: LONG,
  6: BYTE,
  7: SHORT,
  8: LONG,
  9: BYTE,
  10: LONG,
  11: 2 * LONG,
  12: LONG,
  15: INT,
  16: SHORT,
  18: SHORT,
};

/** The greatest number of a type. */
export const LAST_TYPE = 20;
/** The greatest number of an operator that is built in. */
export const LAST_OPERATOR = 209;
