import { topK } from "../../../tensor/along-axis.ts";
import { comparableElements, type Element, elementNumbers, toNested } from "../../../tensor/elements.ts";
import { elementCount, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import { toColumns } from "../../../text/columns.ts";

/** Elements of an output that are shown whole. */
const MAX_SHOWN = 32;
/** Rows whose largest elements are shown. */
const MAX_ROWS = 10;
/** Characters of a text element that are shown. */
const MAX_TEXT = 200;

/** Parts of outputs that are shown. */
export interface OutputView {
  /** Number of the largest elements of each row; absent = all elements, or a summary of many. */
  readonly top?: number;
  /** Names of classes by the name of an output. */
  readonly labelsOf: (name: string) => readonly string[] | undefined;
}

/** Outputs for people. */
export function outputLines(outputs: Tensors, view: OutputView): string[] {
  return Object.entries(outputs).flatMap(([name, tensor]) => [
    `${name} ${tensor.dtype}[${tensor.shape}]`,
    ...toLines(name, tensor, view).map((line) => `  ${line}`),
  ]);
}

function toLines(name: string, tensor: Tensor, { top, labelsOf }: OutputView): string[] {
  const count = elementCount(tensor.shape);
  const isRanked = top !== undefined && isReal(tensor) && tensor.shape.length > 0 && count > 0;
  if (isRanked) return topLines(tensor, top, labelsOf(name) ?? []);
  if (count <= MAX_SHOWN) return [nestedText(tensor)];
  return isReal(tensor) ? [summary(tensor)] : [`${count} elements; --format json shows them`];
}

function isReal({ dtype }: Tensor): boolean {
  return !["bytes", "complex64", "complex128"].includes(dtype);
}

function topLines(tensor: Tensor, top: number, labels: readonly string[]): string[] {
  const { values, indices } = topK(tensor, top);
  const kept = indices.shape.at(-1) ?? 1;
  const numbers = elementNumbers(values, "infer");
  const rowCount = indices.data.length / kept;
  const rows = Array.from({ length: Math.min(rowCount, MAX_ROWS) }, (_, row) =>
    Array.from(indices.data.subarray(row * kept, (row + 1) * kept), (index, rank) => {
      const at = row * kept + rank;
      return [
        rowCount > 1 && rank === 0 ? `${row}:` : "",
        String(index),
        labels[index] ?? "",
        numberText(numbers[at] ?? 0),
      ];
    }),
  );
  const rest = rowCount > MAX_ROWS ? [`and ${rowCount - MAX_ROWS} more rows`] : [];
  return [...toColumns(rows.flat()).map((line) => line.trimStart()), ...rest];
}

function nestedText(tensor: Tensor): string {
  return listText(toNested(tensor, leafText));
}

function listText(nested: unknown): string {
  return Array.isArray(nested) ? `[${nested.map(listText).join(", ")}]` : String(nested);
}

function leafText(element: Element): string {
  if (typeof element === "number") return numberText(element);
  if (!(element instanceof Uint8Array)) return listText(element);
  const text = Buffer.from(element).toString();
  return JSON.stringify(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${element.length} bytes)` : text);
}

function summary(tensor: Tensor): string {
  const elements = comparableElements(tensor, "infer");
  let [least, most, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (let at = 0; at < elements.length; at++) {
    const value = Number(elements[at]);
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
  }
  const [low, mean, high] = [least, sum / elements.length, most].map(numberText);
  return `${elements.length} values from ${low} to ${high}, mean ${mean}`;
}

/** Six digits: more says nothing about a float32. */
function numberText(value: number): string {
  return String(Number(value.toPrecision(6)));
}
