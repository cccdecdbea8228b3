import type { LiveSample } from "../observability/live/live-sample.ts";
import { ChartView } from "./chart-view.tsx";
import { RequestList } from "./request-list.tsx";
import { type Followed, useFollowed } from "./use-followed.ts";

/** Milliseconds that are shown. */
const SHOWN_MS = 3_600_000;

const HISTORY: Followed<LiveSample> = {
  pathAfter: (last) => `ui/history?after=${last?.at ?? 0}`,
  itemsOf: ({ samples }: { readonly samples: readonly LiveSample[] }) => samples,
  keep: (samples) => samples.filter(({ at }) => at > Date.now() - SHOWN_MS),
  everyMs: 5000,
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

const CHARTS = [
  { title: "Requests", unit: "per second", lines: { requests: "all", failures: "failed" } },
  { title: "Time of requests", unit: "ms", lines: { p50: "50 %", p95: "95 %", p99: "99 %" } },
  { title: "Requests under way", unit: "", lines: { inFlight: "waiting or running" } },
  { title: "Waiting for a model", unit: "ms", lines: { queueMs: "average" } },
  { title: "Rows of a run", unit: "", lines: { rows: "average" } },
  { title: "Threads", unit: "", lines: { threads: "of hooks and models" } },
  { title: "Memory", unit: "MB", lines: { rssBytes: "of the process" } },
] as const;
