import { METRICS, type MetricFamily, type Sample, toFamily, toSingle } from "../../observability/metrics/catalogue.ts";
import { Histogram, type HistogramData } from "../../observability/metrics/histogram.ts";
import { residentMemory } from "../../observability/metrics/process-metrics.ts";
import { END_REASONS, endedRequests } from "../../platform/limits/overload-manager.ts";
import type { HttpDependencies } from "../../proxy/http-route.ts";
import type { InferenceService, NamedStatistics, ServableState } from "../../serving/inference-service.ts";
import type { LoadCounts } from "../../serving/load-counter.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import { readVersion } from "../../version.ts";

/** All metrics of a server's requests and models. */
export async function serviceMetrics({
  service,
  memory,
  metrics,
}: Pick<HttpDependencies, "service" | "memory" | "metrics">): Promise<readonly MetricFamily[]> {
  await metrics.gather();
  const states = service.index();
  const statistics = await service.statistics();
  metrics.forget(states);
  return [
    toFamily("kserving_build_info", [{ labels: [readVersion(), process.versions.node], value: 1 }]),
    ...metrics.families(),
    toFamily("kserving_requests_recorded_total", (service.recorded?.() ?? []).map(recordedSample)),
    ...poisonMetrics(service),
    ...inFlightMetrics(service),
    toSingle("kserving_held_bytes", memory.heldBytes),
    toSingle("kserving_held_bytes_limit", memory.maxBytes),
    toFamily(
      "kserving_requests_ended_total",
      END_REASONS.map((reason) => ({ labels: [reason], value: endedRequests.of(reason) })),
    ),
    ...stateMetrics(states),
    ...modelMetrics(statistics),
    toFamily("kserving_hook_seconds", statistics.flatMap(hookSamples)),
    ...threadMetrics(statistics),
    toFamily("kserving_model_process_resident_memory_bytes", await processSamples(statistics, "model")),
    toFamily("kserving_hook_process_resident_memory_bytes", await processSamples(statistics, "hook")),
    toFamily("kserving_model_loads_total", (service.loads?.() ?? []).flatMap(loadSamples)),
  ];
}

function poisonMetrics(service: InferenceService): readonly MetricFamily[] {
  const counts = service.poisonCounts?.() ?? [];
  const samples = (key: "quarantined" | "refused") =>
    counts.map((count) => ({ labels: [count.model], value: count[key] }));
  return [
    toFamily("kserving_poison_requests_total", samples("quarantined")),
    toFamily("kserving_poison_requests_refused_total", samples("refused")),
  ];
}

function inFlightMetrics(service: InferenceService): readonly MetricFamily[] {
  const inFlight = service.inFlight?.();
  if (inFlight === undefined) return [];
  return [
    toSingle("kserving_requests_in_flight", inFlight.count),
    toSingle("kserving_requests_in_flight_limit", inFlight.maxCount),
  ];
}

function stateMetrics(states: readonly ServableState[]): readonly MetricFamily[] {
  const labelsOf = ({ model, version }: ServableState) => [model, String(version)];
  return [
    toFamily(
      "kserving_model_state",
      states.map((state) => ({ labels: [...labelsOf(state), state.state], value: 1 })),
    ),
    toFamily(
      "kserving_model_ready",
      states.map((state) => ({ labels: labelsOf(state), value: state.isReady ? 1 : 0 })),
    ),
  ];
}

function modelMetrics(statistics: readonly NamedStatistics[]): readonly MetricFamily[] {
  const samples = (read: (one: NamedStatistics) => number | HistogramData): Sample[] =>
    statistics.map((one) => ({ labels: [one.model, String(one.version)], value: read(one) }));
  return [
    toFamily(
      "kserving_model_queue_seconds",
      samples(({ runs }) => runs.queueTimes),
    ),
    toFamily(
      "kserving_model_run_seconds",
      samples(({ runs }) => runs.runTimes),
    ),
    toFamily(
      "kserving_model_batch_rows",
      samples(({ runs }) => batchRows(runs.runs)),
    ),
    toFamily(
      "kserving_model_renewals_total",
      samples(({ runs }) => runs.renewals),
    ),
    toFamily(
      "kserving_model_last_request_timestamp_seconds",
      samples(({ requests }) => requests.lastRequest / 1000),
    ),
    toFamily(
      "kserving_model_load_seconds",
      samples(({ loadMs }) => loadMs / 1000),
    ),
  ];
}

function hookSamples({ model, version, hooks }: NamedStatistics): Sample[] {
  return hooks.map(({ hook, stage, times }) => ({
    labels: [model, String(version), hook, stage === 0 ? "" : String(stage)],
    value: times,
  }));
}

const KINDS = ["hook", "model"] as const;

function threadMetrics(statistics: readonly NamedStatistics[]): readonly MetricFamily[] {
  const counted = statistics.flatMap(({ model, version, threads }) =>
    KINDS.map((kind) => ({ labels: [model, String(version), kind], ...threads[kind] })),
  );
  const states = counted.flatMap(({ labels, ready, missing }) => [
    { labels: [...labels, "ready"], value: ready },
    { labels: [...labels, "missing"], value: missing },
  ]);
  const lost = counted.map(({ labels, lost: value }) => ({ labels, value }));
  return [toFamily("kserving_threads", states), toFamily("kserving_threads_lost_total", lost)];
}

async function processSamples(
  statistics: readonly NamedStatistics[],
  kind: keyof NamedStatistics["threads"],
): Promise<readonly Sample[]> {
  const samples = statistics.map(async ({ model, version, threads }) => {
    const sizes = await Promise.all((threads[kind].pids ?? []).map(residentMemory));
    const known = sizes.flatMap((bytes) => bytes ?? []);
    if (known.length === 0) return [];
    return [{ labels: [model, String(version)], value: known.reduce((sum, bytes) => sum + bytes, 0) }];
  });
  return (await Promise.all(samples)).flat();
}

function loadSamples({ model, version, succeeded, failed }: LoadCounts): Sample[] {
  const labels = [model, String(version)];
  return [
    { labels: [...labels, "success"], value: succeeded },
    { labels: [...labels, "failure"], value: failed },
  ];
}

function recordedSample({ model, outcome, count }: RecordedCount): Sample {
  return { labels: [model, outcome], value: count };
}

function batchRows(runs: NamedStatistics["runs"]["runs"]): HistogramData {
  const histogram = new Histogram(METRICS.kserving_model_batch_rows.bounds);
  for (const { rows, count } of runs) histogram.observe(rows, count);
  return histogram;
}
