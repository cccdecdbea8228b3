import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckContext } from "./check-context.ts";
import { killServer, restartsOf } from "./kill-server.ts";
import { type ChartValues, type Pod, Release } from "./release.ts";
import { HALF } from "./subjects.ts";
import { waitUntil } from "./wait-until.ts";

/** Hooks that take memory without end for a request with one value less than zero. */
const HUNGRY = `const kept = [];
export default {
  preprocess: ({ x }) => {
    while (x.data[0] < 0) kept.push(Buffer.alloc(16_000_000, 1));
    return { x };
  },
};
`;
/** Requests at once, of which each is 10 MB of JSON: together far more than the pod's memory. */
const LARGE = { requests: 40, values: 2_000_000 };

/** Fills the disk of a pod and goes over its memory, with another pod beside it. */
export async function checkLimits(context: CheckContext, values: ChartValues): Promise<void> {
  const release = new Release("limited", context);
  await release.apply({
    ...values,
    config: { models: [{ name: HALF.model, path: "/models/half", hooks: "/etc/kserving/hooks/hungry.js" }] },
    ...{ hooks: { "hungry.js": HUNGRY }, tmp: { medium: "Memory", sizeLimit: "32Mi" } },
  });
  await release.settled(2);
  const under = async (phase: string, change: (pod: Pod) => Promise<void>, mayFail = false) => {
    const load = await release.load();
    const [pod] = await release.pods();
    await change(pod as Pod).finally(async () => context.report.add(phase, await load.stop(), { mayFail }));
  };
  await under("a full disk", (pod) => fillDisk(release, pod));
  await under("a server that starts on a full disk", (pod) => startOnFullDisk(context, release, pod), true);
  await under("40 requests of 10 MB at one pod", (pod) => sendLarge(context, pod).then(() => checkAlive(release, pod)));
  await under("a server over its memory limit", (pod) => exceedMemory(context, release, pod), true);
  await release.uninstall();
}

async function fillDisk(release: Release, { metadata }: Pod): Promise<void> {
  const fill = release.kubectl("exec", metadata.name, "--", "sh", "-c", "cat /dev/zero > /tmp/full");
  await assert.rejects(fill, /No space left/);
  await sleep(5000);
}

/** It cannot start, and has to say why; a new pod has a disk of its own. */
async function startOnFullDisk({ cluster, report }: CheckContext, release: Release, pod: Pod): Promise<void> {
  const { name } = pod.metadata;
  await killServer(cluster, release, pod);
  let reason = "";
  await waitUntil("the log says what is missing", async () => {
    [reason = ""] = /[^"]*no space left[^"]*/.exec(await release.kubectl("logs", name)) ?? [];
    return reason !== "";
  });
  report.figure(`a server that starts on a full disk says: ${reason}`);
  await release.kubectl("delete", "pod", name);
  await release.settled(2);
}

async function checkAlive(release: Release, pod: Pod): Promise<void> {
  const again = (await release.pods()).find(({ metadata }) => metadata.name === pod.metadata.name);
  assert.ok(again !== undefined && restartsOf(again) === restartsOf(pod), "the kernel killed the server");
}

async function sendLarge({ cluster, report }: CheckContext, { status }: Pod): Promise<void> {
  const data = `[${"1.25,".repeat(LARGE.values - 1)}1]`;
  const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[${LARGE.values}],"data":${data}}]}`;
  const url = `http://${status.podIP}:9001/v2/models/${HALF.model}/infer`;
  const one = ["curl", "-s", "-o/dev/null", "-w%{http_code}", "--data-binary", "@-", url];
  const codes = await Promise.all(
    Array.from({ length: LARGE.requests }, () => cluster.namespaces.run(one, { input: body })),
  );
  const answered = codes.filter((code) => code === "200").length;
  report.figure(
    `of ${LARGE.requests} requests of 10 MB at a pod with 512 MB: ${answered} answered, ${codes.length - answered} refused`,
  );
  assert.ok(
    codes.every((code) => code === "200" || code === "503"),
    `other statuses: ${codes}`,
  );
}

async function exceedMemory({ cluster, report }: CheckContext, release: Release, pod: Pod): Promise<void> {
  const body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[-1]}]}';
  const url = `http://${pod.status.podIP}:9001/v2/models/${HALF.model}/infer`;
  await cluster.namespaces.run(["curl", "-s", "--max-time", "30", "-d", body, url]).catch(() => undefined);
  const begun = performance.now();
  let reason: string | undefined;
  await waitUntil("the kernel has killed the server", async () => {
    const again = (await release.pods()).find(({ metadata }) => metadata.name === pod.metadata.name);
    reason = again?.status.containerStatuses?.[0]?.lastState.terminated?.reason;
    return reason === "OOMKilled";
  });
  await release.settled(2);
  const seconds = (performance.now() - begun) / 1000;
  report.figure(`a server over its memory limit was ${reason}; its pod was ready again ${seconds.toFixed(1)} s later`);
}
