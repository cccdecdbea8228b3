import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { LiveSample, LogLine, RecentRequest } from "../observability/live/live-data.ts";
import { elementText } from "./form-tensor.ts";
import { type Followed, useFollowed, usePolled } from "./use-polled.ts";

/** Milliseconds that are shown. */
const SHOWN_MS = 3_600_000;

const HISTORY: Followed<LiveSample> = {
  pathAfter: (last) => `ui/history?after=${last?.at ?? 0}`,
  itemsOf: ({ samples }: { readonly samples: readonly LiveSample[] }) => samples,
  keep: (samples) => samples.filter(({ at }) => at > Date.now() - SHOWN_MS),
  everyMs: 5000,
};

const CHARTS = [
  { title: "Requests", unit: "per second", lines: { requests: "all", failures: "failed" } },
  { title: "Time of requests", unit: "ms", lines: { p50: "50 %", p95: "95 %", p99: "99 %" } },
  { title: "Requests under way", unit: "", lines: { inFlight: "waiting or running" } },
  { title: "Waiting for a model", unit: "ms", lines: { queueMs: "average" } },
  { title: "Rows of a run", unit: "", lines: { rows: "average" } },
  { title: "Threads", unit: "", lines: { threads: "of hooks and models" } },
  { title: "Memory", unit: "MB", lines: { rssBytes: "of the process" } },
] as const;

/** Lines that are shown. */
const MAX_LINES = 500;

const LOG: Followed<LogLine> = {
  pathAfter: (last) => `ui/log?after=${last?.number ?? 0}`,
  itemsOf: ({ lines }: { readonly lines: readonly LogLine[] }) => lines,
  keep: (lines) => lines.slice(-MAX_LINES),
  everyMs: 2000,
};

/** Charts of the last hour, and the last requests. */
export function ActivityPart() {
  const { items: samples = [], error } = useFollowed(HISTORY);
  return (
    <>
      <h2>Activity</h2>
      {error !== "" && <p class="notice bad">{error}</p>}
      <section aria-label="Charts of the last hour" class="charts">
        {CHARTS.map(({ title, unit, lines }) => (
          <ChartView key={title} title={title} unit={unit} lines={lines} samples={samples} />
        ))}
      </section>
      <RequestList />
    </>
  );
}

/** The last requests, each with the time of its parts. */
function RequestList() {
  const { value } = usePolled<{ readonly requests: readonly RecentRequest[] }>("ui/requests", 2000);
  const requests = value?.requests;
  return (
    <section aria-labelledby="requests">
      <h3 id="requests">Last requests</h3>
      <p class="facts">Requests to models are kept while this page is open, 100 at most.</p>
      {requests?.length === 0 && <p>There was none since this part of the page was opened.</p>}
      {requests?.map((request) => (
        <details key={`${request.id} ${request.at}`} class="request">
          <summary>
            <span class={/^(?:ok|[23]\d\d)$/.test(request.status) ? "good" : "bad"}>{request.status}</span>{" "}
            {request.model} version {request.version}, {request.totalMs.toFixed(1)} ms{" "}
            <span class="facts">
              {request.route}, {new Date(request.at).toLocaleTimeString()}
            </span>
          </summary>
          <Waterfall request={request} />
        </details>
      ))}
    </section>
  );
}

/** The parts of a request, each as a bar from its start to its end. */
function Waterfall({ request: { parts, totalMs } }: { readonly request: RecentRequest }) {
  const scale = 100 / Math.max(totalMs, 0.001);
  return (
    <table class="bars">
      <caption>Parts of the request, in milliseconds since its start</caption>
      <tbody>
        {parts.map(({ name, start, end }, index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td class="bar">
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect x={start * scale} width={Math.max((end - start) * scale, 0.5)} height="8" />
              </svg>
            </td>
            <td class="score">
              {start.toFixed(2)} – {end.toFixed(2)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The end of the server's log. */
export function LogPart() {
  const { items: lines, error } = useFollowed(LOG);
  return (
    <>
      <h2>Log</h2>
      {error !== "" && <p class="notice bad">{error}</p>}
      {lines?.length === 0 && <p>Nothing was logged since the server was started.</p>}
      <ol class="log" aria-label="Lines of the log, the newest first">
        {lines?.toReversed().map(({ number, at, level, message, fields }) => (
          <li key={number}>
            <time class="facts">{new Date(at).toLocaleTimeString()}</time>{" "}
            <span class={level === "error" ? "bad" : level === "warn" ? "busy" : "facts"}>{level}</span> {message}{" "}
            <span class="facts">{fields}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

interface ChartViewProps {
  readonly title: string;
  readonly unit: string;
  /** Names of lines by the member of a sample that they show. */
  readonly lines: Readonly<Partial<Record<keyof LiveSample, string>>>;
  readonly samples: readonly LiveSample[];
}

const HEIGHT = 150;
const COLORS = ["--accent", "--busy", "--bad"] as const;

/** One chart, with the last values as text. */
function ChartView({ title, unit, lines, samples }: ChartViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const members = Object.keys(lines) as (keyof LiveSample)[];
  const data = [
    samples.map(({ at }) => at / 1000),
    ...members.map((member) => samples.map((one) => memberOf(one, member))),
  ];
  const last = samples.at(-1);
  useEffect(() => {
    const { current: box } = place;
    if (box === null) return;
    const made = new uPlot(toOptions(members, lines, box), data as uPlot.AlignedData, box);
    chart.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData(data as uPlot.AlignedData));
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong>{" "}
        <span class="facts">
          {members.map((member, index) => (
            <span key={member} style={{ color: `var(${COLORS[index]})` }}>
              {lines[member]} {last === undefined ? "-" : textOf(memberOf(last, member), unit)}{" "}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} class="chart" aria-hidden="true" />
    </figure>
  );
}

function toOptions(members: readonly string[], lines: ChartViewProps["lines"], box: HTMLElement): uPlot.Options {
  const axis = {
    ...{ stroke: () => colorOf("--faint", box), font: "11px system-ui, sans-serif", ticks: { show: false } },
    grid: { stroke: () => colorOf("--line", box), width: 1 },
  };
  return {
    ...{ width: box.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { show: false } },
    scales: { y: { range: (_, __, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, size: 40 },
      { ...axis, size: 48 },
    ],
    series: [
      {},
      ...members.map((member, index) => ({
        ...{ label: lines[member as keyof LiveSample] ?? member, width: 1.5, spanGaps: true },
        stroke: () => colorOf(COLORS[index] ?? "--accent", box),
      })),
    ],
  };
}

/** The color that a name of the style sheet has in the present mode, as a canvas takes it. */
function colorOf(name: string, box: HTMLElement): string {
  const probe = box.appendChild(document.createElement("span"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function memberOf(sample: LiveSample, member: keyof LiveSample): number | null {
  return member === "rssBytes" ? sample.rssBytes / 1024 ** 2 : sample[member];
}

function textOf(value: number | null, unit: string): string {
  return value === null ? "-" : `${elementText(Number(value.toPrecision(3)))} ${unit}`;
}
