import { benchNotes, benchRows, levelText } from "../bench-table.ts";
import type { LevelResult } from "../measure/level.ts";
import { shareAxis } from "./axis.ts";
import { escapeHtml, htmlTable } from "./html.ts";
import { lineChart, type Series } from "./line-chart.ts";

/** Facts about a measurement. */
export interface ReportFacts {
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
