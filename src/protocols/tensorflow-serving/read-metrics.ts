import type { RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

/** A server, and the counts of its requests; absent = they are not counted. */
export interface CountedServer {
  readonly service: InferenceService;
  readonly metrics?: RequestMetrics | undefined;
}

/**
 * The values of counters by the original's own names, such as `/tensorflow/serving/request_count`, in their order: of
 * several series the first, as there; 0 for what is not counted here.
 */
export async function readMetrics(
  names: readonly string[],
  { service, metrics }: CountedServer,
): Promise<readonly number[]> {
  if (names.length === 0) return [];
  const { tensorflowServingMetrics } = await import("../prometheus/tensorflow-serving-metrics.ts");
  await metrics?.gather();
  const [recorded, statistics] = [service.recorded?.() ?? [], await service.statistics()];
  const families = tensorflowServingMetrics({ series: metrics?.series() ?? [], recorded, statistics });
  return names.map((name) => {
    const ours = name.replaceAll(/\W/g, ":");
    const value = families.find((family) => family.name === ours)?.samples[0]?.value;
    return typeof value === "number" ? value : 0;
  });
}
