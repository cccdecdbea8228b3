import { invalidArgument, type ServingError } from "../../../errors.ts";
import type { Signature } from "../../../tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../../../tensor/tensor.ts";
import { typeOfDType } from "../tensor-proto.ts";

/** Labels and scores of all examples: a row of `columns` classes for each. */
export interface Classifications {
  readonly kind: "classify";
  readonly rows: number;
  readonly columns: number;
  /** Row by row; absent = there are none. */
  readonly labels?: readonly Uint8Array[];
  /** Row by row; absent = there are none. */
  readonly scores?: Float32Array;
}

/** A value for each example. */
export interface Regressions {
  readonly kind: "regress";
  readonly values: Float32Array;
}

/** The result of one task. */
export type ExampleResult = Classifications | Regressions;

/** The method of a task. */
export type ExampleMethod = ExampleResult["kind"];

/** Names of the outputs for these APIs, as TensorFlow's exporters write them. */
const OUTPUTS = { classes: "classes", scores: "scores", values: "outputs" } as const;

/** Names of the signature's outputs that a method uses; undefined if it has none of them, or lists none. */
export function namedOutputs(method: ExampleMethod, { outputs = [] }: Signature): readonly string[] | undefined {
  const wanted: readonly string[] = method === "classify" ? [OUTPUTS.classes, OUTPUTS.scores] : [OUTPUTS.values];
  const found = outputs.map(({ name }) => name).filter((name) => wanted.includes(name));
  return found.length === 0 ? undefined : found;
}

/** The result of a method in a model's outputs. Throws `invalid_argument` with the original's texts. */
export function toResult(method: ExampleMethod, outputs: Tensors, signature: Signature, count: number): ExampleResult {
  return method === "classify" ? toClassifications(outputs, signature, count) : toRegressions(outputs, count);
}

function toClassifications(outputs: Tensors, signature: Signature, count: number): Classifications {
  const isNamed = outputs[OUTPUTS.classes] !== undefined || outputs[OUTPUTS.scores] !== undefined;
  const [name = OUTPUTS.scores, only] = isNamed ? [] : onlyFloats(outputs, 2);
  const { classes, scores = only } = outputs;
  if (classes === undefined && scores === undefined) throw noClasses(outputs);
  if (classes !== undefined) checkMatrix(OUTPUTS.classes, classes, { dtype: "bytes", count });
  if (scores !== undefined) checkMatrix(OUTPUTS.scores, scores, { dtype: "float32", count });
  const columns = (classes ?? scores)?.shape[1] ?? 0;
  if (classes !== undefined && scores !== undefined && scores.shape[1] !== columns) {
    throw invalidArgument(`Tensors class and score should match in dim_size(1). Got ${columns} vs. ${scores.shape[1]}`);
  }
  const labels = (classes?.data as readonly Uint8Array[] | undefined) ?? labelsOf(signature, name, { count, columns });
  return {
    kind: "classify",
    rows: count,
    columns,
    ...(labels && { labels }),
    ...(scores && { scores: scores.data as Float32Array }),
  };
}

/** The names of an output's classes, for every row. */
function labelsOf(
  { outputs = [] }: Signature,
  name: string,
  { count, columns }: { readonly count: number; readonly columns: number },
): readonly Uint8Array[] | undefined {
  const labels = outputs.find((output) => output.name === name)?.labels;
  if (labels === undefined) return undefined;
  const row = Array.from({ length: columns }, (_, index) => Buffer.from(labels[index] ?? ""));
  return Array.from({ length: count }, () => row).flat();
}

function checkMatrix(
  what: "classes" | "scores",
  { shape, dtype }: Tensor,
  expected: { readonly dtype: "bytes" | "float32"; readonly count: number },
): void {
  if (shape.length !== 2) {
    throw invalidArgument(`Expected Tensor shape: [batch_size num_classes] but got [${shape}]`);
  }
  if (dtype !== expected.dtype) {
    throw invalidArgument(
      `Expected ${what} Tensor of ${typeOfDType(expected.dtype).name}. Got: ${typeOfDType(dtype).name}`,
    );
  }
  if (shape[0] !== expected.count) {
    throw invalidArgument(`Expected ${what} output batch size of ${expected.count}. Got: ${shape[0]}`);
  }
}

function noClasses(outputs: Tensors): ServingError {
  return invalidArgument(
    `Expected classification signature outputs to contain at least one of "${OUTPUTS.classes}" or "${OUTPUTS.scores}", or one output of floats with a row of classes for each example. It gave ${listed(outputs)}.`,
  );
}

function toRegressions(outputs: Tensors, count: number): Regressions {
  const values = outputs[OUTPUTS.values] ?? onlyFloats(outputs, 1)[1];
  if (values === undefined) {
    throw invalidArgument(
      `Expected regression signature outputs to contain "${OUTPUTS.values}", or one output of floats with a value for each example. It gave ${listed(outputs)}.`,
    );
  }
  const { shape, dtype, data } = values;
  if (!isColumn(shape)) {
    throw invalidArgument(
      `Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got [${shape}]`,
    );
  }
  if (shape[0] !== count) {
    throw invalidArgument(`Input batch size did not match output batch size: ${count} vs. ${shape[0]}`);
  }
  if (dtype !== "float32") {
    throw invalidArgument(`Expected output Tensor of DT_FLOAT.  Got: ${typeOfDType(dtype).name}`);
  }
  return { kind: "regress", values: data as Float32Array };
}

function isColumn([rows, columns = 1, ...more]: readonly number[]): boolean {
  return rows !== undefined && more.length === 0 && columns === 1;
}

/** The only float output with this many dimensions; one with a single column has one or two. */
function onlyFloats(outputs: Tensors, rank: 1 | 2): [name?: string, tensor?: Tensor] {
  const fits = ({ dtype, shape }: Tensor) => dtype === "float32" && (rank === 2 ? shape.length === 2 : isColumn(shape));
  const found = Object.entries(outputs).filter(([, tensor]) => fits(tensor));
  return found.length === 1 ? found[0]! : [];
}

function listed(outputs: Tensors): string {
  const list = Object.entries(outputs).map(([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`);
  return list.length === 0 ? "none" : list.join(", ");
}
