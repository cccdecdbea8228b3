import { setTimeout as sleep } from "node:timers/promises";
import type { CheckContext } from "./check-context.ts";
import { installMetrics } from "./install-metrics.ts";
import { type Growth, growthOf } from "./load/throughput.ts";
import { type ChartValues, Release } from "./release.ts";

/** Hooks that hold up their only thread for a tenth of a second: a pod answers ten requests a second. */
const WAITING = `const cell = new Int32Array(new SharedArrayBuffer(4));
export default { preprocess: (values) => (Atomics.wait(cell, 0, 0, 100), values) };
`;
/** Clients of the step, so that each of three pods has four of them. */
const CLIENTS = 12;

/** Time of load after the last pod is there, in which the node's proxy learns of it. */
export const AFTER_MS = 12_000;

/** Scales a release from one pod to three and back by the requests under way, and tells how long that takes. */
export async function checkAutoscaling(context: CheckContext, values: ChartValues): Promise<void> {
  const { cluster, report } = context;
  await installMetrics(cluster);
  const release = new Release("waiting", context);
  await release.apply({
    ...values,
    ...{ replicas: 1, args: ["--workers=1"], hooks: { "waiting.js": WAITING } },
    config: { models: [{ name: "half", path: "/models/half", hooks: "/etc/kserving/hooks/waiting.js" }] },
    autoscaling: {
      ...{ enabled: true, minReplicas: 1, maxReplicas: 3, cpu: 0, requestsInFlight: 4 },
      behavior: { scaleDown: { stabilizationWindowSeconds: 10 } },
    },
  });
  await release.settled(1);
  const wires = ["V2 REST, new connections"] as const;
  const step = await release.load({ wires, clients: CLIENTS, pauseMs: 0 });
  await release.settled(3).finally(() => sleep(AFTER_MS));
  const many = await step.stop();
  report.add("scaled 1 → 3 by requests under way", many);
  noteGrowth(context, "requests under way", growthOf(many));
  const light = await release.load({ wires, clients: 1, pauseMs: 200 });
  await release.settled(1, 120).finally(async () => report.add("scaled 3 → 1", await light.stop()));
  await release.uninstall();
}

/** Says how a throughput grew; it has to be twice as high in the end. */
export function noteGrowth({ report }: CheckContext, metric: string, growth: Growth): void {
  const { before, after, secondsToTwice } = growth;
  const rates = `${before.toFixed(1)} requests/s before, ${after.toFixed(1)} after`;
  if (secondsToTwice === undefined) report.fail(`by ${metric}: never twice the throughput: ${rates}`);
  else report.figure(`by ${metric}: twice the throughput ${secondsToTwice} s after the load step (${rates})`);
}
