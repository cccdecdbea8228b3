import { toColumns } from "../../platform/text/terminal.ts";
import { failureCount, isClientBound, isSilent, type LevelResult } from "./measure/level.ts";

const HEAD = ["Requests/s", "p50 ms", "p90 ms", "p99 ms", "Max ms", "Requests", "Failed", "Client", ""];

/** Share of an open load below which the server does not keep up with it. */
const KEPT = 0.95;

/** The results of a sweep as lines, with notes about them below. */
export function toBenchTable(results: readonly LevelResult[]): string[] {
  const notes = benchNotes(results);
  return [...toColumns(benchRows(results)), ...(notes.length > 0 ? ["", ...notes] : [])];
}

/** The figures of each level as cells, the first row with their names. */
function benchRows(results: readonly LevelResult[]): readonly (readonly string[])[] {
  const isOpen = results.some(({ rate }) => rate !== undefined);
  return [
    [isOpen ? "Rate" : "Concurrency", ...HEAD],
    ...results.map((result) => [levelText(result), ...toCells(result)]),
  ];
}

/** A level for people. */
export function levelText({ rate, concurrency }: Pick<LevelResult, "rate" | "concurrency">): string {
  return rate === undefined ? String(concurrency) : `${rate}/s`;
}

function toCells(result: LevelResult): string[] {
  const { requestsPerSecond, latencyMs, requests, isStable, clientShare } = result;
  const { p50, p90, p99, max } = latencyMs ?? {};
  return [
    rateText(requestsPerSecond),
    ...[p50, p90, p99, max].map(msText),
    ...[String(requests), String(failureCount(result)), shareText(clientShare)],
    isStable ? "" : "unstable",
  ];
}

/** Notes about figures: unstable ones, those of the client, failures. */
export function benchNotes(results: readonly LevelResult[]): readonly string[] {
  const bound = results.filter(isClientBound);
  const late = results.filter(({ rate = 0, requestsPerSecond }) => requestsPerSecond < KEPT * rate);
  const silent = results.filter(isSilent);
  const failures = new Map<string, number>();
  for (const result of results)
    for (const [problem, count] of Object.entries(result.failures))
      failures.set(problem, (failures.get(problem) ?? 0) + count);
  return [
    ...(silent.length > 0
      ? [
          `No request was answered in the last window at ${silent.map(levelText).join(", ")}; see whether the server still runs, or measure longer (--window) if a request takes so long.`,
        ]
      : []),
    ...(results.some((result) => !result.isStable && !isSilent(result))
      ? ["unstable: the last three windows differ by more than 10 %; measure longer (--window, --max-windows)."]
      : []),
    ...(bound.length > 0
      ? [
          `The client was the bottleneck at ${bound.map(levelText).join(", ")}: the server can do more; give the load more threads (--client-threads), or another machine.`,
        ]
      : []),
    ...(late.length > 0
      ? [
          `The server did not keep up with ${late.map(levelText).join(", ")}; latencies grow with the length of the measurement.`,
        ]
      : []),
    ...Array.from(failures, ([problem, count]) => `Failed ${count} times: ${problem}`),
  ];
}

/** A number of milliseconds with three digits: `0.482`, `12.3`, `1500`. */
export function msText(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(ms) ? "-" : digits(ms);
}

/** A number of requests per second with three or more digits. */
export function rateText(perSecond: number): string {
  return digits(perSecond);
}

/** A share as `12 %`. */
function shareText(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** Facts about a measurement. */
interface ReportFacts {
  readonly address: string;
  /** Lines about the machine, the runtime and the command. */
  readonly lines: readonly string[];
}

const STYLE = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #8884}
figure{display:inline-block;width:min(34rem,100%);margin:1rem 1rem 1rem 0;vertical-align:top}figcaption{font-weight:600}
svg{width:100%;height:auto}svg text{fill:currentColor;font-size:12px}.grid{stroke:#8884;fill:none}
figure ul{list-style:none;padding:0;margin:0;display:flex;flex-wrap:wrap;gap:0 1rem}
figure li::before{content:"";display:inline-block;width:.8em;height:.8em;margin-right:.4em;background:var(--colour)}`;

/** One HTML page with the figures of a sweep, their table and charts; it needs no other file and runs no script. */
export function toReport(results: readonly LevelResult[], { address, lines }: ReportFacts): string {
  const paragraphs = [...lines, ...benchNotes(results)].map((line) => `<p>${escapeHtml(line)}</p>`).join("\n");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(address)}</title>
<style>${STYLE}</style>
<h1>${escapeHtml(address)}</h1>
${paragraphs}
${htmlTable(benchRows(results))}
${charts(results).join("\n")}
</html>
`;
}

function charts(results: readonly LevelResult[]): string[] {
  return [
    lineChart(latencySeries(results), {
      ...{ title: "Latency and throughput", xLabel: "requests per second", yLabel: "milliseconds" },
    }),
    lineChart(
      results.map((result) => ({ name: levelName(result), points: result.distribution })),
      {
        ...{ title: "Distribution of latencies", xLabel: "share of the requests", yLabel: "milliseconds" },
        xAxis: shareAxis,
      },
    ),
    lineChart(
      results.map((result) => ({
        name: levelName(result),
        points: result.windows.map(({ requestsPerSecond }, index) => [index + 1, requestsPerSecond] as const),
      })),
      { title: "Throughput by window", xLabel: "window", yLabel: "requests per second" },
    ),
  ];
}

function latencySeries(results: readonly LevelResult[]): Series[] {
  return (["p50", "p90", "p99"] as const).map((name) => ({
    name,
    points: results.flatMap(({ requestsPerSecond, latencyMs }) =>
      latencyMs === undefined ? [] : [[requestsPerSecond, latencyMs[name]] as const],
    ),
  }));
}

function levelName(result: LevelResult): string {
  return result.rate === undefined ? `concurrency ${levelText(result)}` : levelText(result);
}

/** A line of a chart. */
interface Series {
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
function lineChart(series: readonly Series[], options: ChartOptions): string {
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

/** A scale from values to places on a chart, with the values that are marked on it. */
interface Axis {
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

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text for HTML and SVG, also within quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] as string);
}

/** A table of texts, the first row as its head. */
function htmlTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: "th" | "td") =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;
  const body = rows.map((cells) => row(cells, "td")).join("");
  return `<table><thead>${row(head, "th")}</thead><tbody>${body}</tbody></table>`;
}
