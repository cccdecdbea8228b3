import { useEffect, useState } from "preact/hooks";
import type { LiveSample } from "../observability/live/live-sample.ts";
import { CallError, callServer } from "./call-server.ts";
import { ChartView } from "./chart-view.tsx";
import { RequestList } from "./request-list.tsx";

/** Milliseconds between two looks, and of what is shown. */
const [EVERY_MS, SHOWN_MS] = [5000, 3_600_000];

/** Charts of the last hour, and the last requests. */
export function ActivityPart() {
  const { samples, error } = useSamples();
  if (error !== "") return <p class="notice bad">{error}</p>;
  return (
    <>
      <h2>Activity</h2>
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

/** The samples of the last hour, of which each look fetches what is new. */
function useSamples(): { readonly samples: readonly LiveSample[]; readonly error: string } {
  const [samples, setSamples] = useState<readonly LiveSample[]>([]);
  const [error, setError] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let known: readonly LiveSample[] = [];
    const look = async () => {
      try {
        const response = await callServer(`ui/history?after=${known.at(-1)?.at ?? 0}`, { signal: stop.signal });
        const { samples: fresh } = (await response.json()) as { samples: readonly LiveSample[] };
        known = [...known, ...fresh].filter(({ at }) => at > Date.now() - SHOWN_MS);
        setSamples(known);
        setError("");
      } catch (reason) {
        if (reason instanceof CallError) setError(reason.message);
      }
    };
    void look();
    const timer = setInterval(() => void look(), EVERY_MS);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, []);
  return { samples, error };
}
