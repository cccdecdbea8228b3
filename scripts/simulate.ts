/**
 * Queueing of requests at pods of one server each, for docs/scaling.md: how latency and the pods that are needed follow
 * from the time of a request and the way in which clients choose pods. `npm run simulate -- --service-ms 13 --rate 500`
 */
import { parseArgs } from "node:util";
import { type Balancing, simulate } from "./simulation/simulate.ts";

const { values } = parseArgs({
  options: {
    "service-ms": { type: "string", default: "13" },
    rate: { type: "string", default: "50" },
    parallel: { type: "string", default: "1" },
  },
});
const serviceMs = Number(values["service-ms"]);
const ratePerPod = Number(values.rate);
const parallel = Number(values.parallel);

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
