import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { waitUntil } from "./wait-until.ts";

const installed = new WeakSet<Cluster>();

/** Starts the stand-in for the APIs of metrics, once, and waits until the API server takes answers from it. */
export async function installMetrics(cluster: Cluster): Promise<void> {
  if (installed.has(cluster)) return;
  installed.add(cluster);
  const { folder, logs } = cluster.place;
  const entry = join(import.meta.dirname, "metrics/metrics-api-entry.ts");
  cluster.namespaces.keep([process.execPath, "--import=tsx", entry, folder, "4443"], join(logs, "metrics.log"));
  await cluster.apply(readFileSync(join(import.meta.dirname, "manifests/metrics.yaml"), "utf8"));
  await waitUntil("the APIs of metrics are there", async () => {
    const answers = await cluster.kubectl("get", "apiservices", "-o=jsonpath={.items[*].status.conditions[0].status}");
    return !answers.includes("False");
  });
}
