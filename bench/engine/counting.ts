import { RunCounter } from "../../src/models/queue/run-statistics.ts";
import { RequestMetrics } from "../../src/observability/metrics/request-metrics.ts";
import { RequestRecord } from "../../src/observability/request-record.ts";
import type { Figure } from "./figure.ts";

const TIMES = 300_000;
const ROUTE = { protocol: "tensorflow", method: "Predict" };

/** Time that counting takes by itself, without a server: less noisy than a comparison of servers. */
export function countingFigures(rounds: number): Figure[] {
  const each = (micros: () => number) => Array.from({ length: rounds }, micros);
  return [
    { name: "a request timed and counted by the main thread", ours: "", values: each(requestUs), unit: "µs" },
    { name: "a request and its run counted by the model's thread", ours: "", values: each(runUs), unit: "µs" },
  ];
}

/** The cost of a record that takes times and is counted, over that of one that does neither. */
function requestUs(): number {
  const metrics = new RequestMetrics();
  const silent = microsOf(() => passThrough(new RequestRecord({})));
  const counted = microsOf(() => {
    const record = new RequestRecord({});
    record.startTiming();
    passThrough(record);
    metrics.add(record, 0);
  });
  return counted - silent;
}

function passThrough(record: RequestRecord): void {
  record.route = ROUTE;
  record.received(100);
  record.servedBy("default", 1n);
  record.beginInference();
  record.endInference();
  record.wrote(100);
}

/** Its time by range is what metrics add to KServe's statistics. */
function runUs(): number {
  const counter = new RunCounter();
  return microsOf(() => {
    counter.addRequest(0.01);
    counter.addRun({ requests: 1, rows: 1, ms: 0.005 });
  });
}

function microsOf(work: () => void): number {
  const began = performance.now();
  for (let time = 0; time < TIMES; time++) work();
  return ((performance.now() - began) * 1000) / TIMES;
}
