import { type Element, elementText, type FormTensor } from "./form-tensor.ts";

/** The numbers of an output at a glance; of those that are finite. */
export interface ValueSummary {
  readonly low: number;
  readonly high: number;
  readonly mean: number;
  /** Their number in each of the equal parts between the least and the greatest; one part if those are equal. */
  readonly parts: readonly number[];
  /** Place of the greatest in row-major order. */
  readonly greatest: number;
  /** Number of values that are infinite, or no numbers. */
  readonly others: number;
}

/** Parts of a histogram. */
const PARTS = 24;

/** Summarises numbers, true and false among them; undefined for texts, and if no number is finite. */
export function summaryOf({ datatype, values }: FormTensor): ValueSummary | undefined {
  if (datatype === "BYTES") return undefined;
  let [low, high, sum, count, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0, 0];
  for (const [at, value] of values.entries()) {
    const number = Number(value);
    if (!Number.isFinite(number)) continue;
    count++;
    sum += number;
    if (number < low) low = number;
    if (number > high) [high, greatest] = [number, at];
  }
  if (count === 0) return undefined;
  const parts = histogramOf(values, low, high);
  return { low, high, mean: sum / count, parts, greatest, others: values.length - count };
}

function histogramOf(values: readonly Element[], low: number, high: number): number[] {
  const parts = new Array<number>(high > low ? PARTS : 1).fill(0);
  // Divided first: the range of the largest numbers is infinite.
  const width = high / parts.length - low / parts.length || 1;
  for (const value of values) {
    const number = Number(value);
    if (!Number.isFinite(number)) continue;
    const part = Math.min(parts.length - 1, Math.floor(number / width - low / width));
    parts[part] = (parts[part] ?? 0) + 1;
  }
  return parts;
}

/** The difference of the outputs with one name of two answers. */
export interface OutputDifference {
  readonly name: string;
  /** The reason why there is no greatest difference, or the number of texts that differ; absent = there is one. */
  readonly note?: string;
  /** The greatest absolute difference of two elements, and its place; infinity if one of them alone is a number. */
  readonly greatest?: { readonly value: number; readonly place: number; readonly shape: readonly number[] };
}

/**
 * Compares two answers output by output, by their names; the only outputs of both are compared whatever their names.
 */
export function differencesOf(
  first: readonly FormTensor[],
  second: readonly FormTensor[],
): readonly OutputDifference[] {
  const [one, other] = [first[0], second[0]];
  if (one !== undefined && other !== undefined && first.length === 1 && second.length === 1)
    return [{ ...differenceOf(one, other), name: one.name === other.name ? one.name : `${one.name}, ${other.name}` }];
  const names = [...new Set([...first, ...second].map(({ name }) => name))];
  return names.map((name) => {
    const [mine, yours] = [first, second].map((outputs) => outputs.find((output) => output.name === name));
    if (mine === undefined || yours === undefined)
      return { name, note: `only the ${mine === undefined ? "second" : "first"} answers it` };
    return { ...differenceOf(mine, yours), name };
  });
}

function differenceOf(first: FormTensor, second: FormTensor): Omit<OutputDifference, "name"> {
  const [own, others] = [first, second].map(({ shape }) => `[${shape.join(", ")}]`);
  if (own !== others) return { note: `the shapes are ${own} and ${others}` };
  if (first.datatype === "BYTES" || second.datatype === "BYTES") {
    const count = first.values.filter((value, at) => textOf(value) !== textOf(second.values[at])).length;
    return { note: count === 0 ? "equal" : `${count} of ${first.values.length} differ` };
  }
  let greatest = { value: 0, place: 0, shape: first.shape };
  for (const [place, value] of first.values.entries()) {
    const difference = distanceOf(value, second.values[place]);
    if (difference > greatest.value) greatest = { ...greatest, value: difference, place };
  }
  return greatest.value === 0 ? { note: "equal" } : { greatest };
}

function textOf(value: Element | undefined): string {
  return value instanceof Uint8Array ? value.join() : String(value);
}

/** Whole numbers of 64 bits are subtracted before they are rounded. */
function distanceOf(one: Element, other: Element | undefined): number {
  if (Object.is(one, other)) return 0;
  if (typeof one === "bigint" && typeof other === "bigint") return Math.abs(Number(one - other));
  const distance = Math.abs(Number(one) - Number(other));
  return Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
}

/** A sentence about numbers: their range and their mean. */
export function summaryText({ low, high, mean, others }: ValueSummary): string {
  const odd = others === 0 ? "" : `, and ${others} that are no finite numbers`;
  return `from ${elementText(low)} to ${elementText(high)}, mean ${elementText(mean)}${odd}`;
}
