import type { MetricFamily, Sample } from "./catalogue.ts";
import type { HistogramData } from "./histogram.ts";

/** A text form of metrics. */
export interface Exposition {
  readonly contentType: string;
  /** Writes all metrics. */
  write(families: readonly MetricFamily[]): string;
}

/** Prometheus' text format, version 0.0.4. */
export const PROMETHEUS_TEXT: Exposition = {
  contentType: "text/plain; version=0.0.4; charset=utf-8",
  write: (families) => families.map((family) => writeFamily(family, family.name, family.description.type)).join(""),
};

/**
 * OpenMetrics 1.0, in which a counter's name has `_total` in its samples alone. What another server counts without it
 * is of unknown type there: readers refuse all metrics for one such counter.
 */
export const OPENMETRICS_TEXT: Exposition = {
  contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  write: (families) =>
    `${families.map((family) => writeFamily(family, family.name.replace(/_total$/, ""), openType(family))).join("")}# EOF\n`,
};

function openType({ name, description: { type } }: MetricFamily): string {
  return type === "counter" && !name.endsWith("_total") ? "unknown" : type;
}

/** The form that a scraper's `Accept` header asks for. */
export function expositionFor(accept: string | undefined): Exposition {
  const takesOpenMetrics = accept?.includes("application/openmetrics-text") === true;
  return takesOpenMetrics ? OPENMETRICS_TEXT : PROMETHEUS_TEXT;
}

function writeFamily(family: MetricFamily, name: string, type: string): string {
  const { description, samples } = family;
  const head = `# HELP ${name} ${escapeHelp(description.help)}\n# TYPE ${name} ${type}\n`;
  return head + samples.map((sample) => writeSample(family, sample)).join("");
}

function writeSample({ name, description }: MetricFamily, { labels, value }: Sample): string {
  const pairs = description.labels.map((label, index) => `${label}="${escapeLabel(labels[index] ?? "")}"`);
  if (typeof value === "number") return line(name, pairs, value);
  return writeHistogram(name, pairs, { bounds: description.bounds ?? [], value });
}

/** Each count includes those of the smaller ranges. */
function writeHistogram(
  name: string,
  pairs: readonly string[],
  { bounds, value }: { readonly bounds: readonly number[]; readonly value: HistogramData },
): string {
  let [text, count] = ["", 0];
  // One that has counted nothing may have no counts, which readers would take for a damaged answer.
  for (let range = 0; range <= bounds.length; range++) {
    count += value.counts[range] ?? 0;
    const bound = bounds[range];
    text += line(`${name}_bucket`, [...pairs, `le="${bound === undefined ? "+Inf" : canonical(bound)}"`], count);
  }
  return `${text}${line(`${name}_sum`, pairs, value.sum)}${line(`${name}_count`, pairs, count)}`;
}

function line(name: string, pairs: readonly string[], value: number): string {
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${toText(value)}\n`;
}

/** OpenMetrics wants whole bounds with a point. */
function canonical(bound: number): string {
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

function toText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
