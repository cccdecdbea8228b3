import { METRICS, type MetricDescription, type MetricName } from "./catalogue.ts";
import type { HistogramData } from "./histogram.ts";

/** Values of a metric's labels, in the order of its description. */
type LabelValues = readonly string[];

/** One time series as it stands. */
export interface Sample {
  readonly labels: LabelValues;
  readonly value: number | HistogramData;
}

/** A metric with all of its time series. */
export interface MetricFamily {
  readonly name: string;
  readonly description: MetricDescription;
  readonly samples: readonly Sample[];
}

/** A metric of the catalogue. */
export function toFamily(name: MetricName, samples: readonly Sample[]): MetricFamily {
  return { name, description: METRICS[name], samples };
}

/** A metric of the catalogue that has no labels. */
export function toSingle(name: MetricName, value: number | HistogramData): MetricFamily {
  return toFamily(name, [{ labels: [], value }]);
}
