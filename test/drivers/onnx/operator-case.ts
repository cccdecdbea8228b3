import { closeSync, existsSync, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { toDType, typeOf } from "../../../src/drivers/onnx/element-types.ts";
import type { OnnxValue } from "../../../src/drivers/onnx/onnx-value.ts";
import { type ProtobufField, ProtobufFile } from "../../../src/drivers/onnx/protobuf-file.ts";
import { type NumericDType, numericLayout } from "../../../src/tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../src/tensor/tensor.ts";

/** A model of one operator, with inputs and the outputs that ONNX's reference gives. */
export interface OperatorCase {
  readonly name: string;
  readonly modelPath: string;
  /** One file for each value. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** The cases of a folder, by name. */
export function listCases(folder: string): OperatorCase[] {
  const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, "test_data_set_0")));
  return names.sort().map((name) => {
    const data = join(folder, name, "test_data_set_0");
    const modelPath = join(folder, name, "model.onnx");
    return { name, modelPath, inputs: filesOf(data, "input"), outputs: filesOf(data, "output") };
  });
}

function filesOf(folder: string, role: string): string[] {
  const count = readdirSync(folder).filter((name) => name.startsWith(`${role}_`)).length;
  return Array.from({ length: count }, (_, index) => join(folder, `${role}_${index}.pb`));
}

/** The kind of value that a file holds: the file itself does not tell. */
export type ValueKind = "tensor" | "sequence" | "optional";

/** Reads a value's file; throws for element types that we do not carry. */
export function readValue(path: string, kind: ValueKind): OnnxValue {
  const descriptor = openSync(path, "r");
  try {
    const size = fstatSync(descriptor).size;
    return new ValueReader(new ProtobufFile(descriptor)).read({ start: 0, end: size }, kind);
  } finally {
    closeSync(descriptor);
  }
}

type Span = Pick<ProtobufField, "start" | "end">;

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const TENSOR = { dims: 1, type: 2, float: 4, int32: 5, string: 6, int64: 7, raw: 9, double: 10, uint64: 11 };
/** Those of SequenceProto and of OptionalProto. */
const PARTS: Readonly<Record<number, ValueKind>> = { 3: "tensor", 5: "sequence" };

class ValueReader {
  readonly #file: ProtobufFile;

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  read(span: Span, kind: ValueKind): OnnxValue {
    if (kind === "tensor") return this.#tensor(span);
    const parts = [...this.#file.fields(span.start, span.end)].filter(
      ({ number, wireType }) => wireType === 2 && number in PARTS,
    );
    const values = parts.map((part) => this.read(part, PARTS[part.number]!));
    return kind === "sequence" ? values : (values[0] ?? null);
  }

  #tensor(span: Span): Tensor {
    const fields = [...this.#file.fields(span.start, span.end)];
    const of = (number: number) => fields.filter((field) => field.number === number);
    const dims = of(TENSOR.dims).flatMap((field) => this.#varints(field).map(Number));
    const type = typeOf(of(TENSOR.type)[0]?.value ?? 0);
    const dtype = toDType(type);
    if (dtype === undefined) throw new Error(`${type} is not carried`);
    if (dtype === "bytes")
      return createTensor(
        "bytes",
        dims,
        of(TENSOR.string).map((field) => this.#bytes(field)),
      );
    const { array } = numericLayout(dtype);
    const data = new array(elementCount(dims));
    const raw = of(TENSOR.raw)[0];
    if (raw !== undefined) new Uint8Array(data.buffer).set(this.#bytes(raw));
    else data.set(this.#numbers(fields, dtype) as never);
    return createTensor(dtype, dims, data as never);
  }

  #numbers(fields: readonly ProtobufField[], dtype: NumericDType): (number | bigint)[] {
    const of = (number: number) => fields.filter((field) => field.number === number);
    const floats = (number: number, array: typeof Float32Array | typeof Float64Array) =>
      of(number).flatMap((field) => Array.from(new array(this.#bytes(field).slice().buffer)));
    if (dtype === "float32") return floats(TENSOR.float, Float32Array);
    if (dtype === "float64") return floats(TENSOR.double, Float64Array);
    const place = dtype === "int64" ? TENSOR.int64 : /^uint(32|64)$/.test(dtype) ? TENSOR.uint64 : TENSOR.int32;
    const numbers = of(place).flatMap((field) => this.#varints(field));
    return /64$/.test(dtype) ? numbers : numbers.map(Number);
  }

  /** A repeated number, packed or alone. */
  #varints(field: ProtobufField): bigint[] {
    const numbers: bigint[] = [];
    let value = 0n;
    let shift = 0n;
    for (const byte of this.#bytes(field)) {
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if (byte >= 0x80) continue;
      numbers.push(BigInt.asIntN(64, value));
      value = 0n;
      shift = 0n;
    }
    return numbers;
  }

  #bytes({ start, end }: Span): Uint8Array {
    return new Uint8Array(this.#file.bytes(start, end - start));
  }
}
