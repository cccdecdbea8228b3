import { type Axis, linearAxis } from "./axis.ts";
import { escapeHtml } from "./html.ts";

/** A line of a chart. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Texts of a chart, and its horizontal axis: linear unless one is given. */
interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly xAxis?: (max: number, span: { readonly from: number; readonly to: number }) => Axis;
}

const [WIDTH, HEIGHT] = [640, 320];
const PLOT = { left: 64, right: 620, top: 16, bottom: 264 } as const;
/** Colours that people tell apart who do not see all of them. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7f7f7f"];

/** Lines as an SVG image with its legend; both axes begin at 0. */
export function lineChart(series: readonly Series[], options: ChartOptions): string {
  const { title, xLabel, yLabel, xAxis = linearAxis } = options;
  const all = series.flatMap(({ points }) => points);
  const x = xAxis(Math.max(0, ...all.map(([value]) => value)), { from: PLOT.left, to: PLOT.right });
  const y = linearAxis(Math.max(0, ...all.map(([, value]) => value)), { from: PLOT.bottom, to: PLOT.top });
  const lines = series.map((one, index) => toLine(one, colourOf(index), { x, y }));
  const axes = [...x.marks.map(xMark), ...y.marks.map(yMark), label(xLabel, yLabel)];
  const picture = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">${[...axes, ...lines].join("")}</svg>`;
  const names = series.map(({ name }, index) => `<li style="--colour:${colourOf(index)}">${escapeHtml(name)}</li>`);
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>${picture}<ul>${names.join("")}</ul></figure>`;
}

function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] as string;
}

function toLine({ points }: Series, colour: string, { x, y }: { readonly x: Axis; readonly y: Axis }): string {
  const places = points.map(([left, up]) => [x.place(left).toFixed(1), y.place(up).toFixed(1)] as const);
  const line = places.map((place) => place.join(",")).join(" ");
  const dots = places.map(([left, up]) => `<circle cx="${left}" cy="${up}" r="3" fill="${colour}"/>`).join("");
  return `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="2"/>${dots}`;
}

function xMark({ place, text }: Axis["marks"][number]): string {
  const at = place.toFixed(1);
  return `<path class="grid" d="M${at} ${PLOT.top}V${PLOT.bottom}"/><text x="${at}" y="${PLOT.bottom + 18}" text-anchor="middle">${text}</text>`;
}

function yMark({ place, text }: Axis["marks"][number]): string {
  const at = place.toFixed(1);
  return `<path class="grid" d="M${PLOT.left} ${at}H${PLOT.right}"/><text x="${PLOT.left - 8}" y="${at}" dy="4" text-anchor="end">${text}</text>`;
}

function label(xLabel: string, yLabel: string): string {
  const [middle, centre] = [(PLOT.left + PLOT.right) / 2, (PLOT.top + PLOT.bottom) / 2];
  return `<text x="${middle}" y="${HEIGHT - 12}" text-anchor="middle">${escapeHtml(xLabel)}</text><text transform="translate(16 ${centre}) rotate(-90)" text-anchor="middle">${escapeHtml(yLabel)}</text>`;
}
