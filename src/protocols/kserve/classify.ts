import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { toFixedPoint } from "../../platform/text/size-text.ts";
import { BytesBuilder } from "../../tensor/byte-ranges.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { greatest, valueAt } from "./greatest.ts";

/** An output to classify, the requested number of classes, and their names. */
export interface ClassifiedOutput {
  readonly name: string;
  readonly count: number;
  /** One text for each class; absent = none are known. */
  readonly labels?: readonly string[] | undefined;
}

/** Memory of one class while its text is built, in bytes. */
export const CLASS_BYTES = 128;

/**
 * The greatest `count` values of each row as `"value:index"` or `"value:index:label"`, greatest first: shape [batch,
 * count], or [count] for rank 1 (the classification extension). Throws `invalid_argument` for an output without
 * numbers, and for more classes than `maxBytes` hold.
 */
export function classify(tensor: Tensor, output: ClassifiedOutput, maxBytes: number): Tensor<"bytes"> {
  const { shape } = tensor;
  const { name, count, labels } = output;
  if (tensor.dtype === "bytes" || tensor.dtype.startsWith("complex") || shape.length === 0) {
    throw invalidArgument(
      `class result not available for output '${name}' of datatype ${tensor.dtype} and shape [${shape}]; it needs numbers in at least one dimension`,
    );
  }
  const rows = shape.length === 1 ? 1 : (shape[0] as number);
  const width = rows === 0 ? 0 : tensor.data.length / rows;
  const kept = Math.min(count, width);
  new DecodeBudget(maxBytes).spend(rows * kept * CLASS_BYTES, () => `${rows * kept} classes of output '${name}'`);
  const classes = new BytesBuilder();
  for (let start = 0; start < rows * width; start += width) {
    for (const index of greatest(tensor, { start, width, kept })) {
      classes.append(describe(tensor, start + index, { index, labels }));
    }
  }
  return classes.finish(shape.length === 1 ? [kept] : [rows, kept]);
}

/** {@link classify} for a codec thread. */
export const classifyJob = defineJob(import.meta.url, "classifyJob", classify);

interface ClassName {
  readonly index: number;
  readonly labels: readonly string[] | undefined;
}

/** Floats as C's printf("%f") writes them, which is what clients have seen; an empty label counts as none. */
function describe(tensor: Tensor, at: number, { index, labels }: ClassName): string {
  const value = valueAt(tensor, at);
  const isFloat = typeof value === "number" && tensor.dtype.includes("float");
  const number = isFloat ? toFixedPoint(value, 6) : String(value);
  const label = labels?.[index];
  return label ? `${number}:${index}:${label}` : `${number}:${index}`;
}
