/** A scale from values to places on a chart, with the values that are marked on it. */
export interface Axis {
  place(value: number): number;
  readonly marks: readonly { readonly place: number; readonly text: string }[];
}

/** Places of both ends of an axis. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Marks of an axis, about. */
const MARKS = 5;

/** A linear axis from 0 to a value, marked at round numbers. */
export function linearAxis(max: number, { from, to }: Span): Axis {
  const top = max > 0 ? max : 1;
  const place = (value: number) => from + (value / top) * (to - from);
  const step = roundStep(top / MARKS);
  const count = Math.floor(top / step + 1e-9) + 1;
  const marks = Array.from({ length: count }, (_, index) => Number((index * step).toPrecision(6)));
  return { place, marks: marks.map((value) => ({ place: place(value), text: String(value) })) };
}

/** An axis of shares from 0.5 on, on which 90 %, 99 % and 99.9 % have equal distances. */
export function shareAxis(max: number, { from, to }: Span): Axis {
  const nines = (share: number) => -Math.log10(1 - share);
  const [low, high] = [nines(0.5), nines(Math.max(max, 0.9))];
  const place = (share: number) => from + ((nines(share) - low) / (high - low)) * (to - from);
  const marks = [0.5, 0.9, 0.99, 0.999, 0.9999].filter((share) => share <= Math.max(max, 0.9));
  return { place, marks: marks.map((share) => ({ place: place(share), text: `${share * 100} %` })) };
}

/** The next of 1, 2, 5, 10 … */
function roundStep(step: number): number {
  const unit = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5].find((each) => each * unit >= step * 0.999) ?? 10;
  return factor * unit;
}
