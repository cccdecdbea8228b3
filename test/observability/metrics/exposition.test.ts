import { describe, expect, test } from "vitest";
import type { MetricFamily } from "../../../src/observability/metrics/catalogue.ts";
import { expositionFor, OPENMETRICS_TEXT, PROMETHEUS_TEXT } from "../../../src/observability/metrics/exposition.ts";
import { sumHistograms } from "../../../src/observability/metrics/histogram.ts";

const REQUESTS: MetricFamily = {
  name: "requests_total",
  description: { type: "counter", help: "Back\\slash\nand line.", labels: ["model", "status"] },
  samples: [{ labels: ['a "quoted"\nname\\', "200"], value: 3 }],
};
const TIMES: MetricFamily = {
  name: "time_seconds",
  description: { type: "histogram", help: "Times.", labels: [], bounds: [0.5, 1] },
  samples: [{ labels: [], value: { counts: [1, 2, 3], sum: 7.25 } }],
};

describe("Prometheus' text", () => {
  test("escapes what would end a label or a line", () => {
    expect(PROMETHEUS_TEXT.write([REQUESTS])).toBe(
      '# HELP requests_total Back\\\\slash\\nand line.\n# TYPE requests_total counter\nrequests_total{model="a \\"quoted\\"\\nname\\\\",status="200"} 3\n',
    );
  });

  test("has a histogram's ranges each with the smaller ones", () => {
    expect(PROMETHEUS_TEXT.write([TIMES]).split("\n").slice(2, -1)).toEqual([
      'time_seconds_bucket{le="0.5"} 1',
      'time_seconds_bucket{le="1.0"} 3',
      'time_seconds_bucket{le="+Inf"} 6',
      "time_seconds_sum 7.25",
      "time_seconds_count 6",
    ]);
  });

  test("has all ranges of a histogram that has counted nothing, as of a thread that has not reported yet", () => {
    const nothing = { ...TIMES, samples: [{ labels: [], value: sumHistograms([]) }] };
    expect(PROMETHEUS_TEXT.write([nothing]).split("\n").slice(2, -1)).toEqual([
      'time_seconds_bucket{le="0.5"} 0',
      'time_seconds_bucket{le="1.0"} 0',
      'time_seconds_bucket{le="+Inf"} 0',
      "time_seconds_sum 0",
      "time_seconds_count 0",
    ]);
  });

  test.each([
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
    [1e21, "1e+21"],
  ])("writes %d as %s", (value, text) => {
    const gauge: MetricFamily = {
      name: "g",
      description: { type: "gauge", help: "", labels: [] },
      samples: [{ labels: [], value }],
    };
    expect(PROMETHEUS_TEXT.write([gauge])).toContain(`\ng ${text}\n`);
  });
});

test("OpenMetrics names a counter without _total where it is described, and ends", () => {
  const text = OPENMETRICS_TEXT.write([REQUESTS]);
  expect(text).toContain("# TYPE requests counter\nrequests_total{");
  expect(text.endsWith("\n# EOF\n")).toBe(true);
});

test("OpenMetrics does not call a counter what has no _total, as Triton's have none", () => {
  const foreign = { ...REQUESTS, name: "nv_requests" };
  expect(OPENMETRICS_TEXT.write([foreign])).toContain("# TYPE nv_requests unknown\nnv_requests{");
  expect(PROMETHEUS_TEXT.write([foreign])).toContain("# TYPE nv_requests counter\nnv_requests{");
});

test.each([
  [undefined, PROMETHEUS_TEXT],
  ["text/plain", PROMETHEUS_TEXT],
  ["application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPENMETRICS_TEXT],
])("a scraper that accepts %s gets the form that it asks for", (accept, form) => {
  expect(expositionFor(accept)).toBe(form);
});
