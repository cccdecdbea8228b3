import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckContext } from "./check-context.ts";
import { killServer } from "./kill-server.ts";
import { type ChartValues, NAMESPACE, type Pod, type Release } from "./release.ts";
import { addVersion, HALF } from "./subjects.ts";
import { waitUntil } from "./wait-until.ts";
import { IMAGES } from "./write-images.ts";

/** Time of load before and after a change. */
const AROUND_MS = 3000;

/** Changes a release of two pods under load in all the ways in which no request may be lost, and kills a server. */
export async function checkRollouts(context: CheckContext, release: Release, values: ChartValues): Promise<void> {
  const { cluster, report, models, images } = context;
  await cluster.importImage(images.next);
  const under = async (phase: string, change: () => Promise<void>, mayFail = false) => {
    const load = await release.load();
    await sleep(AROUND_MS);
    try {
      await change();
      await release.settled(2);
      await sleep(AROUND_MS);
    } finally {
      report.add(phase, await load.stop(), { mayFail });
    }
  };
  await under("a new version of the model", async () => {
    addVersion(models, 2);
    await waitUntil("all pods have version 2", () => haveVersion(release, "2"));
  });
  await under("new values", () => release.apply({ ...values, env: [{ name: "KSERVING_LOG_LEVEL", value: "debug" }] }));
  const [repository, tag] = IMAGES.next.split(":");
  await under("a new image", () => release.apply({ ...values, image: { repository, tag } }));
  await under("a pod deleted", async () => {
    await release.kubectl("delete", "pod", (await firstPod(release)).metadata.name);
  });
  await under("a pod evicted", () => evict(context, release));
  await under("a server killed", async () => killServer(cluster, release, await firstPod(release)), true);
}

/** Asks each pod by itself. */
async function haveVersion(release: Release, version: string): Promise<boolean> {
  const pods = await release.pods();
  const answers = pods.map(async ({ metadata }) => {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}:9001/proxy/v2/models/${HALF.model}`;
    return JSON.parse(await release.kubectl("get", `--raw=${path}`)).versions.includes(version);
  });
  return (await Promise.all(answers)).every(Boolean);
}

/** One pod at a time may go: the budget refuses the second. */
async function evict({ cluster }: CheckContext, release: Release): Promise<void> {
  const [first, second] = (await release.pods()).map(({ metadata }) => evictionOf(metadata.name));
  await cluster.create(...(first as Eviction));
  await assert.rejects(cluster.create(...(second as Eviction)), /disruption budget/);
}

type Eviction = readonly [path: string, object: object];

function evictionOf(name: string): Eviction {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`;
  return [path, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: NAMESPACE } }];
}

async function firstPod(release: Release): Promise<Pod> {
  const [pod] = await release.pods();
  if (pod === undefined) throw new Error(`${release.name} has no pods`);
  return pod;
}
