import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterPlace, CONTAINERD_SOCKET, CONTROL_GROUP, PAUSE_IMAGE } from "./cluster-place.ts";

const BRIDGE = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      ...{ type: "bridge", bridge: "pods0", isGateway: true, hairpinMode: true, ipMasq: false },
      ipam: {
        type: "host-local",
        dataDir: "/run/cni",
        ranges: [[{ subnet: "10.244.0.0/24" }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

/** Writes the configuration files of the parts. JSON is YAML, which they read. */
export function writeClusterFiles(place: ClusterPlace, debian: string): void {
  const { folder, kubeconfig } = place;
  const write = (name: string, content: object) => writeFileSync(join(folder, name), JSON.stringify(content));
  mkdirSync(join(folder, "cni"));
  write("cni/10-pods.conflist", BRIDGE);
  writeFileSync(join(folder, "containerd.toml"), containerdSettings(folder, debian));
  writeFileSync(kubeconfig, JSON.stringify(accessOf(place)));
  write("kubelet.json", kubeletSettings(place));
  write("proxy.json", proxySettings(place));
}

function accessOf({ authority, certificate, key }: ClusterPlace): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "here", cluster: { server: "https://127.0.0.1:6443", "certificate-authority": authority } }],
    users: [{ name: "admin", user: { "client-certificate": certificate, "client-key": key } }],
    contexts: [{ name: "here", context: { cluster: "here", user: "admin" } }],
    "current-context": "here",
  };
}

function containerdSettings(folder: string, debian: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[${cri}]
  sandbox_image = "${PAUSE_IMAGE}"
  # Root may lack the right to lower a score.
  restrict_oom_score_adj = true
[${cri}.cni]
  bin_dir = "${debian}/usr/lib/cni"
  conf_dir = "${folder}/cni"
[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`;
}

function kubeletSettings({ folder, authority }: ClusterPlace): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: authority } },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${CONTROL_GROUP}`,
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    localStorageCapacityIsolation: false,
    podLogsDir: join(folder, "pod-logs"),
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    syncFrequency: "5s",
    clusterDomain: "cluster.local",
    resolvConf: "/dev/null",
  };
}

function proxySettings({ kubeconfig }: ClusterPlace): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clusterCIDR: "10.244.0.0/16",
    clientConnection: { kubeconfig },
    hostnameOverride: "node1",
    oomScoreAdj: 0,
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}
