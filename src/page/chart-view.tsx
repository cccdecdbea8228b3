import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { LiveSample } from "../observability/live/live-data.ts";
import { elementText } from "./form-tensor.ts";

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
export function ChartView({ title, unit, lines, samples }: ChartViewProps) {
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
