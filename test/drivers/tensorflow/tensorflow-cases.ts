import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type DType, type NumericDType, numericLayout } from "../../../src/tensor/dtype.ts";
import { toBfloat16, toFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../src/tensor/tensor.ts";

const FOLDER = "test/fixtures/tensorflow";

/** Results of Python TensorFlow with a model of test/fixtures/make/tensorflow-models.py. */
export interface TensorflowCase {
  readonly signature: string;
  /** The `-o` options that the model needs. */
  readonly options: Readonly<Record<string, string>>;
  readonly inputs: Tensors;
  readonly outputs: Tensors;
  /** Allowed difference of a number, relative to the greater of 1 and its own size. */
  readonly tolerance: number;
}

/** Names of all models that Python TensorFlow could run. */
export const TENSORFLOW_MODELS: readonly string[] = readdirSync(FOLDER).filter((name) => readCases(name).length > 0);

/** Path of a model: a SavedModel's folder, or a frozen graph. */
export function tensorflowModel(name: string): string {
  const frozen = `${FOLDER}/${name}/frozen.pb`;
  return existsSync(frozen) ? frozen : `${FOLDER}/${name}`;
}

/** The model's answers with their inputs. */
export function readCases(name: string): TensorflowCase[] {
  const cases: WrittenCase[] = JSON.parse(readFileSync(`${FOLDER}/${name}/cases.json`, "utf8"));
  return cases.map(({ signature, options = {}, tags, tolerance = 1e-5, inputs, outputs }) => ({
    signature,
    options: tags === undefined ? options : { ...options, tags: tags.join(",") },
    inputs: toTensors(inputs),
    outputs: toTensors(outputs),
    tolerance,
  }));
}

interface WrittenCase {
  readonly signature: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  readonly tolerance?: number;
  readonly inputs: Readonly<Record<string, WrittenTensor>>;
  readonly outputs: Readonly<Record<string, WrittenTensor>>;
}

/** A tensor as cases.json has it. */
export interface WrittenTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}

/** Tensors as cases.json has them. */
export function toTensors(written: Readonly<Record<string, WrittenTensor>>): Tensors {
  return createTensors(Object.entries(written).map(([name, tensor]) => [name, toTensor(tensor)]));
}

function toTensor({ dtype, shape, data }: WrittenTensor): Tensor {
  if (dtype === "bytes") {
    return createTensor(
      "bytes",
      shape,
      data.map((text) => Buffer.from(text as string, "base64")),
    );
  }
  const carrier = new (numericLayout(dtype).array)(data.length * numericLayout(dtype).slots);
  for (const [index, value] of data.flat().entries()) carrier[index] = toElement(dtype, value) as never;
  return createTensor(dtype, shape, carrier as never);
}

/** Numbers, or what JSON has no number for: a 64-bit integer, NaN and the infinities are text. */
function toElement(dtype: NumericDType, value: unknown): number | bigint {
  if (dtype === "int64" || dtype === "uint64") return BigInt(value as string);
  if (dtype === "float16") return toFloat16(Number(value));
  if (dtype === "bfloat16") return toBfloat16(Number(value));
  return Number(value);
}
