/**
 * Queueing of requests at pods of one server each, for docs/scaling.md: how latency and the pods that are needed follow
 * from the time of a request and the way in which clients choose pods: npm run bench -- simulate --service-ms 13 --rate
 * 500. With --measure it predicts latencies of one server and of three from service times that it measures, measures
 * them, and exits with 1 where they are not what it predicts (a minute, on a machine that does nothing else).
 */
import { parseArgs } from "node:util";
import { measurePoints } from "./simulation/measure-points.ts";
import { type Balancing, simulate } from "./simulation/simulate.ts";

const OPTIONS = {
  "service-ms": { type: "string", default: "13" },
  rate: { type: "string", default: "50" },
  parallel: { type: "string", default: "1" },
  measure: { type: "boolean", default: false },
} as const;

/** Prints the scenarios, or with --measure what servers do beside what is predicted. */
export async function runSimulation(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.measure) await printPoints();
  else printScenarios(Number(values["service-ms"]), Number(values.rate), Number(values.parallel));
}

async function printPoints(): Promise<void> {
  console.log("pods  quantile  measured  predicted");
  for (const { pods, quantile, measured, predicted } of await measurePoints()) {
    const [least, greatest] = predicted;
    const range = `${least.toFixed(1)} to ${greatest.toFixed(1)}`;
    console.log(`${String(pods).padStart(4)}  ${quantile}    ${measured.toFixed(1).padStart(8)}  ${range}`);
    if (measured < least || measured > greatest) process.exitCode = 1;
  }
}

function printScenarios(serviceMs: number, ratePerPod: number, parallel: number): void {
  console.log(`${ratePerPod} requests/s for each pod, ${serviceMs} ms each, ${parallel} at a time`);
  console.log("pods  balancing     p50 ms   p99 ms  busiest pod");
  for (const pods of [1, 3, 10, 100, 1000]) {
    for (const balancing of ["least", "random", "connections"] satisfies Balancing[]) {
      const { p50Ms, p99Ms, busiest } = simulate({ pods, parallel, serviceMs, rate: ratePerPod * pods, balancing });
      const cells = [
        p50Ms.toFixed(1).padStart(8),
        p99Ms.toFixed(1).padStart(8),
        `${Math.round(100 * busiest)} %`.padStart(8),
      ];
      console.log(`${String(pods).padStart(4)}  ${balancing.padEnd(11)} ${cells.join(" ")}`);
    }
  }
}
