import { type DeclaredValue, readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import type { OnnxValue, OnnxValues } from "../../../src/drivers/onnx/onnx-value.ts";
import { reasonText } from "../../../src/errors.ts";
import { fromBfloat16, fromFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, isTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { type OperatorCase, readValue } from "./operator-case.ts";

/** Outcome of a case whose outputs are the reference's. */
export const PASSED = "passed";
/** Outcome of a case whose values were not sent. */
export const NOT_CARRIED = "not carried";

/**
 * Reasons of ONNX Runtime not to load a model: no kernel for the types or the version,
 * a domain that it lacks, a locale that the machine lacks.
 */
const NOT_ITS_OPERATOR =
  /Could not find an implementation|is not a registered function|Batchwise recurrent operations|Failed to construct locale/;
/**
 * Cases whose results are random, that ONNX Runtime computes otherwise than the reference of that version, or whose
 * values lack their shapes.
 */
const OTHER_RESULTS = [
  /^test_cast(like)?_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)/,
  /^test_bernoulli/,
  /^test_training_dropout/,
  /^test_cast(like)?_FLOAT_to_STRING/,
  /^test_maxunpool_export_with_output_shape$/,
  /^test_resize_downsample_scales_(cubic|linear)_align_corners$/,
];
/** A case that needs an optional without a value, which its C API has no way to pass. */
const NOT_PASSED = "test_optional_has_element_empty";

/** Checks that ONNX Runtime itself cannot give the reference's result. */
export function isExcused(name: string, outcome: string): boolean {
  if (NOT_ITS_OPERATOR.test(outcome)) return true;
  if (name === NOT_PASSED) return outcome.endsWith("has no way to pass.");
  return OTHER_RESULTS.some((pattern) => pattern.test(name)) && /^differs|Invalid rank|shape/.test(outcome);
}

/** Inputs of a case, and the outputs of ONNX's reference. */
export interface CaseValues {
  readonly inputs: OnnxValues;
  readonly expected: OnnxValues;
}

/** Reads the values of a case. */
export function readCase({ modelPath, inputs, outputs }: OperatorCase): CaseValues {
  const file = readModelFile(modelPath);
  return { inputs: readAll(inputs, file?.inputs ?? []), expected: readAll(outputs, file?.outputs ?? []) };
}

/**
 * Runs a case: {@link PASSED}, {@link NOT_CARRIED} where `run` gives nothing, the
 * output that differs, or the message of the error.
 */
export async function caseOutcome(
  { inputs, expected }: CaseValues,
  run: (values: CaseValues) => Promise<OnnxValues | undefined>,
): Promise<string> {
  try {
    const given = await run({ inputs, expected });
    if (given === undefined) return NOT_CARRIED;
    const wrong = Object.keys(expected).find((name) => !isClose(given[name], expected[name]));
    return wrong === undefined ? PASSED : `differs in ${wrong}`;
  } catch (reason) {
    return reasonText(reason);
  }
}

function readAll(files: readonly string[], declared: readonly DeclaredValue[]): OnnxValues {
  return Object.fromEntries(files.map((file, index) => [declared[index]!.name, readDeclared(file, declared[index]!)]));
}

const BFLOAT16 = 16;

function readDeclared(file: string, { kind, elementType }: DeclaredValue): OnnxValue {
  const value = readValue(file, kind === "sequence" || kind === "optional" ? kind : "tensor");
  // The package has the bits of such numbers as those of uint16.
  if (elementType !== BFLOAT16 || !isTensor(value) || value.dtype !== "uint16") return value;
  return createTensor("bfloat16", value.shape, value.data);
}

function isClose(given: OnnxValue | undefined, expected: OnnxValue | undefined): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(given) &&
      given.length === expected.length &&
      expected.every((element, index) => isClose(given[index], element))
    );
  if (!isTensor(expected) || !isTensor(given)) return given === expected;
  if (given.dtype !== expected.dtype || String(given.shape) !== String(expected.shape)) return false;
  const numbers = toPlain(given);
  return toPlain(expected).every((value, index) => isNear(numbers[index], value));
}

function isNear(given: unknown, expected: unknown): boolean {
  if (Object.is(given, expected) || given === expected) return true;
  if (typeof given !== "number" || typeof expected !== "number") return false;
  return Math.abs(given - expected) <= 1e-3 * Math.abs(expected) + 1e-3;
}

function toPlain(tensor: Tensor): unknown[] {
  if (tensor.dtype === "bytes") return tensor.data.map((element) => Buffer.from(element).toString());
  if (tensor.dtype === "float16") return Array.from(tensor.data, fromFloat16);
  return tensor.dtype === "bfloat16" ? Array.from(tensor.data, fromBfloat16) : Array.from<unknown>(tensor.data);
}
