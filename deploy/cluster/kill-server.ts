import type { Cluster } from "./cluster.ts";
import { CONTAINERD_SOCKET } from "./cluster-place.ts";
import type { Pod, Release } from "./release.ts";
import { waitUntil } from "./wait-until.ts";

/** Kills the server of a release's pod, as a crash ends it, and waits until Kubernetes has started it again. */
export async function killServer(cluster: Cluster, release: Release, pod: Pod): Promise<void> {
  const id = pod.status.containerStatuses?.[0]?.containerID.replace("containerd://", "");
  const ctr = ["ctr", `--address=${CONTAINERD_SOCKET}`, "--namespace=k8s.io"];
  const before = restartsOf(pod);
  await cluster.namespaces.run([...ctr, "tasks", "kill", "--signal=SIGKILL", id as string]);
  await waitUntil("the server has started again", async () => {
    const again = (await release.pods()).find(({ metadata }) => metadata.name === pod.metadata.name);
    return again !== undefined && restartsOf(again) > before;
  });
}

/** Number of times that a pod's server was started again. */
export function restartsOf({ status }: Pod): number {
  return status.containerStatuses?.[0]?.restartCount ?? 0;
}
